#include "engine/plan/blocks.h"

#include <algorithm>
#include <set>

#include "base/error.h"

namespace tessera {
namespace {

using Item = BlockTable::Item;

// Columns of the processor's widest micro-kernel. The rows that all columns of a panel share are one block; beyond
// them, each step of the staircase is one.
constexpr int kPanel = 32;

// The elements of a weight outside its blocks: between two neighboring block edges all columns have the same rows.
std::vector<Item> holes_between(int rows, int cols, const std::vector<Item>& items) {
  std::set<int> edges{0, cols};
  for (const Item& b : items) edges.insert({b.col, b.col + b.cols});
  std::vector<Item> holes;
  for (auto end = std::next(edges.begin()); end != edges.end(); ++end) {
    const int col = *std::prev(end), width = *end - col;
    std::vector<Item> here;
    for (const Item& b : items)
      if (b.rows > 0 && b.col <= col && col < b.col + b.cols) here.push_back(b);
    std::sort(here.begin(), here.end(), [](const Item& a, const Item& b) { return a.row < b.row; });
    int row = 0;
    for (const Item& b : here) {
      if (b.row < row) throw Error(ErrorCode::internal, "blocks share an element");
      if (b.row > row) holes.push_back({row, b.row - row, col, width, 0});
      row = b.row + b.rows;
    }
    if (row < rows) holes.push_back({row, rows - row, col, width, 0});
  }
  return holes;
}

}  // namespace

Blocks::Blocks(int depth, int rows, int cols, std::vector<Item> items) : items_(std::move(items)) {
  for (const Item& b : items_)
    if (b.row < 0 || b.col < 0 || b.from < 0 || b.rows < 1 || b.cols < 1 || b.row + b.rows > rows ||
        b.col + b.cols > cols || b.from + b.rows > depth)
      throw Error(ErrorCode::internal, "a block lies outside its weight");
  holes_ = holes_between(rows, cols, items_);
  table_ = {items_.data(), holes_.data(), static_cast<int>(items_.size()), static_cast<int>(holes_.size()), depth,
            rows,          cols};
}

std::shared_ptr<const Blocks> Blocks::staircase(int depth, const std::vector<int>& limits) {
  const int cols = static_cast<int>(limits.size());
  const auto limit = [&](int col) { return limits[static_cast<size_t>(col)]; };
  std::vector<Item> items;
  for (int col = 0; col < cols; col += kPanel) {
    const int end = std::min(col + kPanel, cols), common = limit(col);
    if (common > 0) items.push_back({0, common, col, end - col, 0});
    for (int tread = col, next; tread < end; tread = next) {
      for (next = tread; next < end && limit(next) == limit(tread);) ++next;
      if (limit(tread) > common) items.push_back({common, limit(tread) - common, tread, next - tread, common});
    }
  }
  return std::make_shared<const Blocks>(depth, depth, cols, std::move(items));
}

std::shared_ptr<const Blocks> Blocks::side_by_side(int rows, const std::vector<int>& widths) {
  std::vector<Item> items;
  int col = 0, from = 0;
  for (const int width : widths) {
    items.push_back({0, rows, col, width, from});
    col += width;
    from += rows;
  }
  return std::make_shared<const Blocks>(from, rows, col, std::move(items));
}

}  // namespace tessera

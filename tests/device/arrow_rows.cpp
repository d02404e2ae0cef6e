// Batches of Arrow's device interface that lie on the device: what is read of them is what is read of the same batches
// on the host.
#include <memory>

#include "device.h"
#include "engine/device/device_api.h"
#include "engine/error.h"
#include "models/data/arrow/device.h"
#include "models/data/arrow/import.h"
#include "tables/arrow_stream.h"
#include "tables/support.h"

namespace tessera {
namespace {

using namespace test;

std::vector<Node> tables() {
  const auto some = bits_of({1, 0, 1, 1, 1});
  Node sliced = column<int32_t>("i", {9, 1, 2, 3, 9, 4, 5}, bits_of({1, 1, 0, 1, 1, 1, 1}));
  sliced.offset = 1, sliced.length = 5;
  std::vector<Node> columns{
      sliced,
      column<double>("g", {1.5, 2, 3, 4, 5}),
      fixed("b", 5, bits_of({1, 0, 0, 1, 1}), some),
      texts<int32_t>("u", {"red", "", "green", "a longer text", "red"}, some),
      texts<int64_t>("U", {"x", "y", "y", "x", "z"}),
      dictionary(column<int8_t>("c", {0, 1, 1, 0, 2}, some), texts<int32_t>("u", {"low", "middle", "high"})),
      column<int64_t>("tsu:UTC", {1, 2, 3, 4, 5}, some),
      fixed("n", 5, {})};
  columns.back().buffers.clear();
  for (size_t j = 0; j < columns.size(); ++j) columns[j].name = "column " + std::to_string(j);
  Node batch = table_of(std::move(columns)), slice = batch;
  slice.offset = 2, slice.length = 3;
  return {batch, slice};
}

// A stream of the device interface over one whose buffers lie wherever they lie.
struct Labelled {
  Labelled(HandMade& from, ArrowDeviceType t) : type(t) { from.open(&inner); }
  ArrowArrayStream inner{};
  ArrowDeviceType type;
  void* event = nullptr;

  void open(ArrowDeviceArrayStream* out) {
    const auto self = [](ArrowDeviceArrayStream* s) -> Labelled& { return *static_cast<Labelled*>(s->private_data); };
    static const auto of = self;
    *out = {};
    out->device_type = type;
    out->private_data = this;
    out->get_schema = [](ArrowDeviceArrayStream* s, ArrowSchema* schema) {
      return of(s).inner.get_schema(&of(s).inner, schema);
    };
    out->get_next = [](ArrowDeviceArrayStream* s, ArrowDeviceArray* batch) {
      *batch = {};
      batch->device_type = of(s).type, batch->sync_event = of(s).event;
      return of(s).inner.get_next(&of(s).inner, &batch->array);
    };
    out->get_last_error = [](ArrowDeviceArrayStream* s) { return of(s).inner.get_last_error(&of(s).inner); };
    out->release = [](ArrowDeviceArrayStream* s) {
      of(s).inner.release(&of(s).inner);
      s->release = nullptr;
    };
  }
};

// A device's memory, freed at the end.
struct Memory {
  explicit Memory(Device& d) : device(d) {}
  ~Memory() {
    for (void* p : held) device.api().free(device.session(), p);
  }
  const void* put(const Bytes& bytes) {
    void* there = nullptr;
    device.check(device.api().allocate(device.session(), static_cast<int64_t>(bytes.size() + 1), "a buffer", &there));
    held.push_back(there);
    if (!bytes.empty())
      device.check(device.api().upload(device.session(), there, bytes.data(), static_cast<int64_t>(bytes.size())));
    return there;
  }
  Device& device;
  std::vector<void*> held;
};

std::shared_ptr<Device> borrowed(Device& device) {
  return {&device, [](Device*) {}};
}

Table import(Labelled& labelled, Device& device, int* opened = nullptr) {
  ArrowDeviceArrayStream there;
  labelled.open(&there);
  ArrowArrayStream here;
  host_stream(
      &there,
      [&](int64_t) {
        if (opened != nullptr) ++*opened;
        return borrowed(device);
      },
      &here);
  EXPECT_EQ(there.release, nullptr);
  Team team(2);
  return table_import(&here, team, Monitor{});
}

Table on_host() {
  HandMade made(tables());
  ArrowArrayStream stream;
  made.open(&stream);
  Team team(2);
  return table_import(&stream, team, Monitor{});
}

TEST(DeviceRows, BatchesOnTheDeviceAreReadAsThoseOnTheHost) {
  TESSERA_NEEDS_DEVICE();
  Memory memory(float_device());
  HandMade made(tables());
  made.place = [&](const Bytes& b) { return memory.put(b); };
  Labelled labelled(made, ARROW_DEVICE_CUDA);
  int opened = 0;
  expect_equal(import(labelled, float_device(), &opened), on_host());
  EXPECT_EQ(opened, 1) << "once for all batches";
  EXPECT_EQ(made.live, 0) << "everything was released";
  EXPECT_EQ(made.released, 1);
}

TEST(DeviceRows, EventsAreWaitedFor) {
  TESSERA_NEEDS_DEVICE();
  static int waited;
  static void* seen;
  waited = 0;
  DeviceApi counting = float_device().api();
  counting.wait_event = [](DeviceSession*, void* event) {
    ++waited;
    seen = event;
    return DeviceStatus::ok;
  };
  Device device(counting, 0);
  for (const ArrowDeviceType type : {ARROW_DEVICE_CUDA, ARROW_DEVICE_CUDA_HOST, ARROW_DEVICE_CUDA_MANAGED}) {
    Memory memory(device);
    HandMade made(tables());
    if (type == ARROW_DEVICE_CUDA) made.place = [&](const Bytes& b) { return memory.put(b); };
    Labelled labelled(made, type);
    labelled.event = &labelled;
    waited = 0;
    expect_equal(import(labelled, device), on_host());
    EXPECT_EQ(waited, 2) << "once a batch";
    EXPECT_EQ(seen, &labelled);
  }
}

TEST(DeviceRows, WhatCannotBeCopiedIsSaid) {
  TESSERA_NEEDS_DEVICE();
  const auto error = [&](Node n) {
    Memory memory(float_device());
    HandMade made({table_of({std::move(n)})});
    made.place = [&](const Bytes& b) { return memory.put(b); };
    Labelled labelled(made, ARROW_DEVICE_CUDA);
    Error found(ErrorCode::internal, "(no error)");
    try {
      import(labelled, float_device());
    } catch (const Error& e) { found = e; }
    EXPECT_EQ(made.live, 0);
    return found;
  };
  expect_parts(error(views("vu", {"a"})), ErrorCode::unsupported, {"\"c\"", "lies on a GPU", "\"vu\"", "Cast"});
  Node n = column<double>("g", {1, 2});
  n.length = -1;
  EXPECT_EQ(error(n).code(), ErrorCode::data);
  n = column<double>("g", {1, 2});
  n.offset = INT64_MAX - 1;
  expect_parts(error(n), ErrorCode::data, {"\"c\"", "impossible"});
  n = column<double>("g", {1, 2});
  n.buffers[1].reset();
  expect_parts(error(n), ErrorCode::data, {"\"c\"", "no values"});
  n = texts<int32_t>("u", {"a", "b"});
  n.buffers[1] = bytes_of<int32_t>({0, 1, -5});
  expect_parts(error(n), ErrorCode::data, {"\"c\"", "descending"});
}

TEST(DeviceRows, HostMemoryPassesWithoutADevice) {
  HandMade made(tables());
  Labelled labelled(made, ARROW_DEVICE_CPU);
  ArrowDeviceArrayStream there;
  labelled.open(&there);
  ArrowArrayStream here;
  host_stream(
      &there, [](int64_t) -> std::shared_ptr<Device> { throw Error(ErrorCode::unsupported, "no device is needed"); },
      &here);
  Team team(1);
  expect_equal(table_import(&here, team, Monitor{}), on_host());
  // And back: a host stream as one of the device interface.
  HandMade again(tables());
  ArrowArrayStream stream;
  again.open(&stream);
  device_stream(&stream, &there);
  EXPECT_EQ(there.device_type, ARROW_DEVICE_CPU);
  host_stream(&there, nullptr, &here);
  expect_equal(table_import(&here, team, Monitor{}), on_host());
  EXPECT_EQ(again.live, 0);
}

}  // namespace
}  // namespace tessera

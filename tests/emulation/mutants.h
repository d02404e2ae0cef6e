// Planted bugs, all of them compiled into one program: TESSERA_MUTANT in the environment names the one that is there.
// mutate.py writes these in place of the operators, calls and numbers of the kernels, and includes this file in front
// of them.
#pragma once
#include <algorithm>
#include <cstdlib>

namespace tessera::mutants {

inline const int planted = std::getenv("TESSERA_MUTANT") == nullptr ? -1 : std::atoi(std::getenv("TESSERA_MUTANT"));
inline bool on(int id) { return id == planted; }

// `a < less(7) < b` is a < b, and a <= b where mutant 7 is planted: it stands at the precedence of the operator that it
// takes the place of. The others likewise.
enum class Relation { less, at_most, more, at_least };
template <Relation r>
struct Operator {
  int id;
};
template <Relation r, class A>
struct Left {
  A a;
  int id;
};
inline Operator<Relation::less> less(int id) { return {id}; }
inline Operator<Relation::at_most> at_most(int id) { return {id}; }
inline Operator<Relation::more> more(int id) { return {id}; }
inline Operator<Relation::at_least> at_least(int id) { return {id}; }

template <class A>
Left<Relation::less, A> operator<(A a, Operator<Relation::less> o) {
  return {a, o.id};
}
template <class A>
Left<Relation::at_most, A> operator<=(A a, Operator<Relation::at_most> o) {
  return {a, o.id};
}
template <class A>
Left<Relation::more, A> operator>(A a, Operator<Relation::more> o) {
  return {a, o.id};
}
template <class A>
Left<Relation::at_least, A> operator>=(A a, Operator<Relation::at_least> o) {
  return {a, o.id};
}
template <class A, class B>
bool operator<(Left<Relation::less, A> l, B b) {
  return on(l.id) ? l.a <= b : l.a < b;
}
template <class A, class B>
bool operator<=(Left<Relation::at_most, A> l, B b) {
  return on(l.id) ? l.a < b : l.a <= b;
}
template <class A, class B>
bool operator>(Left<Relation::more, A> l, B b) {
  return on(l.id) ? l.a >= b : l.a > b;
}
template <class A, class B>
bool operator>=(Left<Relation::at_least, A> l, B b) {
  return on(l.id) ? l.a > b : l.a >= b;
}

inline int one(int id) { return on(id) ? 0 : 1; }  // of `+ 1` and `- 1`
// the lowest lane is missing
inline unsigned lanes(int id, unsigned mask) { return on(id) ? mask & (mask - 1) : mask; }
template <class A, class B>
auto smaller(int id, A a, B b) {  // of min(a, b), one too many
  return std::min(a, b) + on(id);
}

}  // namespace tessera::mutants

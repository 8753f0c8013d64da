//===- OpcodeTable.cpp - The instructions that the emulator knows ---------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A pattern is a small non-deterministic automaton over characters. Matching
// backtracks; the check of the table walks products of automata.
//
//===----------------------------------------------------------------------===//

#include "Isa/OpcodeTable.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/Twine.h"

#include <cstring>
#include <set>

using namespace flashnorm;
using namespace flashnorm::emulator;
using llvm::ArrayRef;
using llvm::StringRef;

namespace {

/// A literal, or a group of alternatives (of which one may be empty).
struct Item {
  StringRef literal;
  llvm::SmallVector<StringRef, 8> alternatives;
  bool optional = false;

  bool isGroup() const { return !alternatives.empty(); }
};

struct Pattern {
  const OpcodeEntry *entry = nullptr;
  StringRef opcode;
  std::vector<Item> items; ///< after the opcode
  unsigned numGroups = 0;
  std::string error; ///< why it is no pattern
};

Pattern compile(const OpcodeEntry &entry) {
  Pattern result;
  result.entry = &entry;
  StringRef text = entry.pattern;
  result.opcode =
      text.take_until([](char c) { return c == '.' || c == '(' || c == '{'; });
  text = text.drop_front(result.opcode.size());
  if (result.opcode.empty())
    result.error = "no opcode";
  while (!text.empty() && result.error.empty()) {
    Item item;
    if (text[0] == '(' || text[0] == '{') {
      item.optional = text[0] == '{';
      size_t end = text.find(item.optional ? '}' : ')');
      if (end == StringRef::npos) {
        result.error = "a group without end";
        break;
      }
      text.substr(1, end - 1).split(item.alternatives, '|');
      for (StringRef alternative : item.alternatives)
        if (alternative.empty() ||
            alternative.find_first_of("(){}") != StringRef::npos)
          result.error = "an empty or nested alternative";
      ++result.numGroups;
      text = text.drop_front(end + 1);
    } else {
      item.literal =
          text.take_until([](char c) { return c == '(' || c == '{'; });
      text = text.drop_front(item.literal.size());
      if (item.literal.find_first_of(")}|") != StringRef::npos)
        result.error = "a group without begin";
    }
    result.items.push_back(std::move(item));
  }
  if (result.numGroups > Site::maxGroups)
    result.error = "more than " + std::to_string(Site::maxGroups) + " groups";
  return result;
}

bool match(ArrayRef<Item> items, StringRef text, unsigned group, Site &site) {
  if (items.empty())
    return text.empty();
  const Item &item = items.front();
  if (!item.isGroup())
    return text.starts_with(item.literal) &&
           match(items.drop_front(), text.drop_front(item.literal.size()),
                 group, site);
  for (auto [index, alternative] : llvm::enumerate(item.alternatives)) {
    if (!text.starts_with(alternative))
      continue;
    site.choice[group] = index;
    if (match(items.drop_front(), text.drop_front(alternative.size()),
              group + 1, site))
      return true;
  }
  site.choice[group] = -1;
  return item.optional && match(items.drop_front(), text, group + 1, site);
}

/// Characters and what may follow them: state 0 is the begin; the accepting
/// state has no successors.
struct Automaton {
  struct Edge {
    char c; ///< 0: no character
    unsigned to;
  };
  std::vector<std::vector<Edge>> edges;
  unsigned accept = 0;

  explicit Automaton(const Pattern &pattern) : edges(1) {
    unsigned at = 0;
    for (const Item &item : pattern.items) {
      if (!item.isGroup()) {
        at = append(at, item.literal);
        continue;
      }
      std::vector<unsigned> ends;
      for (StringRef alternative : item.alternatives)
        ends.push_back(append(at, alternative));
      unsigned join = add();
      for (unsigned end : ends)
        edges[end].push_back({0, join});
      if (item.optional)
        edges[at].push_back({0, join});
      at = join;
    }
    accept = at;
  }

private:
  unsigned add() {
    edges.emplace_back();
    return edges.size() - 1;
  }
  unsigned append(unsigned at, StringRef text) {
    for (char c : text) {
      unsigned next = add();
      edges[at].push_back({c, next});
      at = next;
    }
    return at;
  }
};

/// Whether some text takes both automata to their ends; with one automaton
/// twice, whether it does so along two different paths.
bool intersect(const Automaton &a, const Automaton &b, bool same) {
  using State = std::tuple<unsigned, unsigned, bool>;
  std::set<State> seen;
  std::vector<State> work = {{0, 0, !same}};
  while (!work.empty()) {
    State state = work.back();
    work.pop_back();
    if (!seen.insert(state).second)
      continue;
    auto [i, j, differ] = state;
    if (i == a.accept && j == b.accept && differ)
      return true;
    for (const Automaton::Edge &edge : a.edges[i])
      if (!edge.c)
        work.push_back({edge.to, j, differ});
    for (const Automaton::Edge &edge : b.edges[j])
      if (!edge.c)
        work.push_back({i, edge.to, differ});
    for (const Automaton::Edge &x : a.edges[i])
      for (const Automaton::Edge &y : b.edges[j])
        if (x.c && x.c == y.c)
          work.push_back({x.to, y.to, differ || x.to != y.to});
  }
  return false;
}

struct Table {
  std::vector<Pattern> patterns;
  llvm::StringMap<std::vector<unsigned>> byOpcode;

  Table() {
#define FAMILY(function)                                                       \
  for (const OpcodeEntry &entry : function())                                  \
    patterns.push_back(compile(entry));
    FAMILY(getIntegerOpcodes)
    FAMILY(getBitOpcodes)
    FAMILY(getFloatOpcodes)
    FAMILY(getComparisonOpcodes)
    FAMILY(getConversionOpcodes)
    FAMILY(getControlOpcodes)
    FAMILY(getMemoryOpcodes)
    FAMILY(getAtomicOpcodes)
    FAMILY(getWarpOpcodes)
    FAMILY(getBarrierOpcodes)
    FAMILY(getMBarrierOpcodes)
    FAMILY(getFenceOpcodes)
    FAMILY(getAsyncCopyOpcodes)
    FAMILY(getBulkCopyOpcodes)
    FAMILY(getTensorCopyOpcodes)
    FAMILY(getTensorMapOpcodes)
    FAMILY(getMatrixOpcodes)
    FAMILY(getWgmmaOpcodes)
    FAMILY(getWmmaOpcodes)
#undef FAMILY
    for (auto [index, pattern] : llvm::enumerate(patterns))
      byOpcode[pattern.opcode].push_back(index);
  }
};

const Table &getTable() {
  static const Table table;
  return table;
}

} // namespace

std::vector<const OpcodeEntry *> emulator::getOpcodes() {
  std::vector<const OpcodeEntry *> result;
  for (const Pattern &pattern : getTable().patterns)
    result.push_back(pattern.entry);
  return result;
}

bool emulator::matchOpcode(StringRef opcode, ArrayRef<std::string> modifiers,
                           Site &site) {
  const Table &table = getTable();
  auto found = table.byOpcode.find(opcode);
  if (found == table.byOpcode.end())
    return false;
  std::string text;
  for (const std::string &modifier : modifiers)
    (text += '.') += modifier;
  for (unsigned index : found->second) {
    const Pattern &pattern = table.patterns[index];
    site.choice.fill(-1);
    if (!pattern.error.empty() || !match(pattern.items, text, 0, site))
      continue;
    site.entry = pattern.entry;
    site.types.clear();
    for (const std::string &modifier : modifiers)
      if (std::optional<ptx::Type> type = ptx::parseType(modifier))
        site.types.push_back(*type);
    return true;
  }
  return false;
}

static bool isSection(StringRef text) {
  llvm::SmallVector<StringRef> parts;
  text.split(parts, '.');
  return parts.size() >= 2 && llvm::all_of(parts, [](StringRef part) {
           return !part.empty() &&
                  llvm::all_of(part, [](char c) { return llvm::isDigit(c); });
         });
}

std::vector<std::string> emulator::checkOpcodeTable() {
  std::vector<std::string> problems;
  const Table &table = getTable();
  auto report = [&](const Pattern &pattern, const llvm::Twine &problem) {
    problems.push_back(
        (llvm::Twine("'") + pattern.entry->pattern + "' " + problem).str());
  };
  std::vector<Automaton> automata;
  for (const Pattern &pattern : table.patterns) {
    const OpcodeEntry &entry = *pattern.entry;
    automata.emplace_back(pattern);
    if (!pattern.error.empty())
      report(pattern, "has " + pattern.error);
    if (!entry.emitter == !entry.handler)
      report(pattern, "needs an emitter or a handler, and not both");
    if (!isSection(entry.section))
      report(pattern, "names no section: '" + llvm::Twine(entry.section) + "'");
    llvm::SmallVector<StringRef> operands;
    StringRef(entry.operands).split(operands, ' ', -1, false);
    for (StringRef operand : operands) {
      operand.consume_back("?");
      if (operand.size() != 1 || !std::strchr("dpsmcDAlfL", operand[0]))
        report(pattern, "has an unknown operand: '" + operand + "'");
    }
    if (intersect(automata.back(), automata.back(), true))
      report(pattern, "matches some instruction in two ways");
  }
  for (const auto &opcode : table.byOpcode)
    for (unsigned i : opcode.second)
      for (unsigned j : opcode.second)
        if (i < j && intersect(automata[i], automata[j], false))
          report(table.patterns[i], llvm::Twine("overlaps with '") +
                                        table.patterns[j].entry->pattern + "'");
  return problems;
}

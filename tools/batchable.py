#!/usr/bin/env python3
"""Make an ONNX model that takes one item at a time take any number of them.

usage: batchable.py IN.onnx OUT.onnx

The first extent of every input and output becomes a name instead of the number 1, shapes noted
in between are dropped, and constant targets of Reshape that begin with 1 begin with -1 (or 0,
"as the input", where -1 is taken). Whether a model then still computes the same is not for this
program to say: test/models compares both.

Only the protocol-buffer fields at hand are understood; all else is copied byte by byte.
"""

import struct

import usage

# Fields of ModelProto, GraphProto, NodeProto, … by name.
MODEL_GRAPH = 7
GRAPH_NODE, GRAPH_INITIALIZER, GRAPH_INPUT, GRAPH_OUTPUT, GRAPH_VALUE_INFO = 1, 5, 11, 12, 13
NODE_INPUT, NODE_OUTPUT, NODE_OP, NODE_ATTRIBUTE = 1, 2, 4, 5
ATTRIBUTE_NAME, ATTRIBUTE_TENSOR = 1, 5
TENSOR_DIMS, TENSOR_TYPE, TENSOR_INT64, TENSOR_NAME, TENSOR_RAW = 1, 2, 7, 8, 9
VALUE_NAME, VALUE_TYPE, TYPE_TENSOR, TENSOR_SHAPE, SHAPE_DIM = 1, 2, 1, 2, 1
DIM_VALUE, DIM_NAME = 1, 2
INT64 = 7
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def write_varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def parse(data):
    """A message as a list of [field, wire type, value]; nested ones stay bytes."""
    fields, at = [], 0
    while at < len(data):
        key, at = read_varint(data, at)
        field, wire = key >> 3, key & 7
        if wire == VARINT:
            value, at = read_varint(data, at)
        elif wire == BYTES:
            length, at = read_varint(data, at)
            value, at = data[at : at + length], at + length
        elif wire in (FIXED64, FIXED32):
            length = 8 if wire == FIXED64 else 4
            value, at = data[at : at + length], at + length
        else:
            raise ValueError(f"wire type {wire} is not known")
        fields.append([field, wire, value])
    return fields


def build(fields):
    out = bytearray()
    for field, wire, value in fields:
        out += write_varint(field << 3 | wire)
        if wire == VARINT:
            out += write_varint(value)
        elif wire == BYTES:
            out += write_varint(len(value)) + value
        else:
            out += value
    return bytes(out)


def first(fields, number, default=b""):
    return next((value for field, _, value in fields if field == number), default)


def edit(data, numbers, change):
    """Follow the path of field @numbers into @data, every branch of it, and @change its end."""
    if not numbers:
        return change(data)
    fields = parse(data)
    for entry in fields:
        if entry[0] == numbers[0]:
            entry[2] = edit(entry[2], numbers[1:], change)
    return build(fields)


def free_first_extent(shape):
    fields = parse(shape)
    for entry in fields:
        if entry[0] == SHAPE_DIM:
            if first(parse(entry[2]), DIM_VALUE, 0) == 1:
                entry[2] = build([[DIM_NAME, BYTES, b"items"]])
            break
    return build(fields)


def values_of(tensor):
    fields = parse(tensor)
    raw = first(fields, TENSOR_RAW)
    if raw:
        return list(struct.unpack(f"<{len(raw) // 8}q", raw))
    values = []
    for field, wire, value in fields:
        if field == TENSOR_INT64 and wire == BYTES:
            at = 0
            while at < len(value):
                number, at = read_varint(value, at)
                values.append(number - (1 << 64) if number >> 63 else number)
        elif field == TENSOR_INT64:
            values.append(value - (1 << 64) if value >> 63 else value)
    return values


def free_target(tensor):
    """The target of a Reshape: a list of INT64."""
    fields = parse(tensor)
    values = values_of(tensor)
    if first(fields, TENSOR_TYPE, 0) != INT64 or not values or values[0] != 1:
        return tensor
    values[0] = 0 if -1 in values[1:] else -1
    kept = [entry for entry in fields if entry[0] not in (TENSOR_RAW, TENSOR_INT64)]
    return build(kept + [[TENSOR_RAW, BYTES, struct.pack(f"<{len(values)}q", *values)]])


def targets_of(graph):
    """The names of the constants that say into which shape something is brought."""
    names = set()
    for field, _, node in graph:
        if field == GRAPH_NODE and first(parse(node), NODE_OP) == b"Reshape":
            inputs = [value for number, _, value in parse(node) if number == NODE_INPUT]
            names |= set(inputs[1:2])
    return names


def free_constant(node):
    fields = parse(node)
    for entry in fields:
        if entry[0] == NODE_ATTRIBUTE:
            entry[2] = edit(entry[2], [ATTRIBUTE_TENSOR], free_target)
    return build(fields)


def make_batchable(model):
    fields = parse(model)
    for entry in fields:
        if entry[0] != MODEL_GRAPH:
            continue
        graph = [part for part in parse(entry[2]) if part[0] != GRAPH_VALUE_INFO]
        targets = targets_of(graph)
        constants = {
            first(parse(value), TENSOR_NAME)
            for field, _, value in graph
            if field == GRAPH_INITIALIZER
        }
        for part in graph:
            field, _, value = part
            inside = parse(value) if field in (1, 5, 11, 12) else []
            if field == GRAPH_INITIALIZER and first(inside, TENSOR_NAME) in targets:
                part[2] = free_target(value)
            elif field == GRAPH_NODE and first(inside, NODE_OP) == b"Constant":
                if first(inside, NODE_OUTPUT) in targets:
                    part[2] = free_constant(value)
            elif field in (GRAPH_INPUT, GRAPH_OUTPUT):
                if first(inside, VALUE_NAME) not in constants:
                    path = [VALUE_TYPE, TYPE_TENSOR, TENSOR_SHAPE]
                    part[2] = edit(value, path, free_first_extent)
        entry[2] = build(graph)
    return build(fields)


def main():
    source, target = usage.words(__doc__, 2)
    with open(source, "rb") as file:
        model = file.read()
    with open(target, "wb") as file:
        file.write(make_batchable(model))


if __name__ == "__main__":
    main()

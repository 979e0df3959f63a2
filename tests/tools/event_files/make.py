# SPDX-License-Identifier: BSL-1.0
"""Writes the event files of this folder. They were made with tensorboardX 2.6.5, tensorboard 2.21.0 and protobuf 7.36.2.

torch.utils.tensorboard writes through the same EventFileWriter of tensorboard."""
import pathlib
import tempfile

import numpy
from tensorboard.compat.proto import event_pb2, summary_pb2, tensor_pb2, tensor_shape_pb2
from tensorboard.plugins.hparams import summary_v2 as hparams
from tensorboard.plugins.scalar import metadata
from tensorboard.summary.writer.event_file_writer import EventFileWriter
from tensorboard.util import tensor_util
from tensorboardX import SummaryWriter

HERE = pathlib.Path(__file__).parent


def keep(folder: str, name: str) -> None:
    (written,) = pathlib.Path(folder).glob("events.out.tfevents.*")
    (HERE / name).write_bytes(written.read_bytes())


def by_tensorboardx() -> None:
    with tempfile.TemporaryDirectory() as folder:
        writer = SummaryWriter(folder)
        for step in range(4):
            writer.add_scalar("Loss/train", 1 / (1 + step), step)
            writer.add_scalar("lr", 0.125, step)
        writer.add_text("note", "a text", 3)
        writer.add_histogram("weights", numpy.arange(40, dtype=numpy.float32), 3)
        writer.add_scalar("Loss/val", 0.25, 3)
        writer.add_scalar("Loss/train", float("nan"), 4)
        writer.close()
        keep(folder, "tensorboardX.tfevents")


def by_tensorboard() -> None:
    with tempfile.TemporaryDirectory() as folder:
        writer = EventFileWriter(folder)

        def add(step: int, *values: summary_pb2.Summary.Value) -> None:
            writer.add_event(event_pb2.Event(wall_time=1, step=step, summary=summary_pb2.Summary(value=values)))

        def tensor_value(tag: str, tensor: tensor_pb2.TensorProto) -> summary_pb2.Summary.Value:
            return summary_pb2.Summary.Value(tag=tag, metadata=metadata.create_summary_metadata("", ""), tensor=tensor)

        writer.add_event(event_pb2.Event(wall_time=1, summary=hparams.hparams_pb({"lr": 0.1})))
        for step in range(2):
            add(step, summary_pb2.Summary.Value(tag="loss", simple_value=2 - step), summary_pb2.Summary.Value(tag="acc", simple_value=0.5 * step))
        add(2, tensor_value("loss", tensor_util.make_tensor_proto(numpy.float32(0.5))))
        add(3, tensor_value("loss", tensor_util.make_tensor_proto(numpy.float64(0.25))))
        content = tensor_pb2.TensorProto(dtype=1, tensor_shape=tensor_shape_pb2.TensorShapeProto(), tensor_content=numpy.float32(0.125).tobytes())
        add(4, tensor_value("loss", content))
        add(5, tensor_value("loss", tensor_util.make_tensor_proto(numpy.float32([1, 2]))), tensor_value("loss", tensor_util.make_tensor_proto("a text")))
        writer.close()
        keep(folder, "tensorboard.tfevents")


by_tensorboardx()
by_tensorboard()

"""Tensors of PyTorch as arrays of overtake, without a copy, and arrays as tensors. It needs PyTorch and a GPU.

    python3 arrays_torch.py
"""

import torch

import overtake_gpu
from overtake_gpu import discard, read, read_write

COUNT = 1 << 20


def times_three(lane, source, target):
    with torch.cuda.stream(torch.cuda.ExternalStream(lane.stream)):
        torch.mul(torch.from_dlpack(source), 3, out=torch.from_dlpack(target))


given = torch.arange(COUNT, dtype=torch.float32, device="cuda")
with overtake_gpu.Dispatcher() as dispatcher, dispatcher.arrays() as arrays:
    x, y = arrays.adopt(given), arrays.array(COUNT)
    arrays.launch("times three", times_three, read(x), discard(y), priority=3)
    with y.on_device() as view:
        tensor = torch.as_tensor(view, device="cuda")
        assert tensor.data_ptr() == view.address, "the tensor is the array's memory"
        assert float(tensor[7]) == 21.0
        assert torch.equal(tensor, given * 3)
    with x.on_device(read_write, stream=torch.cuda.current_stream()) as view:
        assert view.address == given.data_ptr(), "the array is the tensor's memory"
        torch.from_dlpack(view).add_(1)
    copies = arrays.statistics()
    x.release()
assert float(given[7]) == 8.0
assert (copies["uploads"], copies["downloads"]) == (0, 0), copies
print(f"PyTorch {torch.__version__}: no copy, and the same memory on both sides")

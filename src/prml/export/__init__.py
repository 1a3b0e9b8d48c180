"""What is here: fitted models for other runtimes.

>>> from prml.export import to_onnx
>>> to_onnx.__name__
'to_onnx'
"""

from prml.export.onnx_file import to_onnx

__all__ = ["to_onnx"]

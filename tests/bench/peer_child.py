"""Runs one method of another library on a table of levels, in that library's own environment.

`python peer_child.py REQUEST.json`: `library`, `method`, `epsilon`, `delta`, `limit` (in processor
seconds), `sizes` (levels of each column), `levels` and `drawn` (CSV files of whole numbers). It
imports nothing of this repository, and prints the processor seconds of fitting and drawing. Rows
are as many as were given: these libraries hold that number for public.
"""

import json
import resource
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd


def draw_dpmm(request: dict, frame: pd.DataFrame) -> pd.DataFrame:
    """`dpmm`'s pipelines, whose own binning is off: levels are public already."""
    from dpmm import pipelines

    maker = {
        "mst": pipelines.MSTPipeline,
        "aim": pipelines.AIMPipeline,
        "privbayes": pipelines.PrivBayesPipeline,
    }[request["method"]]
    made = maker(
        epsilon=request["epsilon"], delta=request["delta"], disable_processing=True, n_jobs=1
    )
    made.fit(frame, domain=request["sizes"])
    return made.generate(n_records=len(frame))


def draw_smartnoise(request: dict, frame: pd.DataFrame) -> pd.DataFrame:
    """smartnoise-synth: its MST and AIM are mbi's, its dpctgan trains by opacus. The transformer is
    fitted to a table of all public levels in place of a look at the rows."""
    from snsynth import Synthesizer
    from snsynth.transform import TableTransformer

    columns, most = list(frame.columns), max(request["sizes"].values())
    public = pd.DataFrame({c: np.arange(most) % request["sizes"][c] for c in columns})
    style = "gan" if request["method"] == "dpctgan" else "cube"
    transformer = TableTransformer.create(public, style=style, categorical_columns=columns)
    transformer.fit(public)
    made = Synthesizer.create(
        request["method"], epsilon=request["epsilon"], delta=request["delta"], verbose=False
    )
    made.fit(frame, transformer=transformer, preprocessor_eps=0.0)
    drawn = made.sample(len(frame))
    return pd.DataFrame(np.asarray(drawn), columns=columns)


def main() -> None:
    request = json.loads(Path(sys.argv[1]).read_text())
    resource.setrlimit(resource.RLIMIT_CPU, (request["limit"], request["limit"] + 5))
    frame = pd.read_csv(request["levels"])
    began = time.process_time()
    drawn = {"dpmm": draw_dpmm, "smartnoise": draw_smartnoise}[request["library"]](request, frame)
    seconds = time.process_time() - began
    levels = drawn[list(frame.columns)].astype(float).fillna(0).round().astype(np.int64)
    levels.to_csv(request["drawn"], index=False)
    print(json.dumps({"cpu": seconds}))


if __name__ == "__main__":
    main()

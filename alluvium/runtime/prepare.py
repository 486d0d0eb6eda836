"""Last step of the set-up, run inside the environment: Spark's jars, and a configuration for Spark itself."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from alluvium import AlluviumError
from alluvium.runtime import jars, session


def configure_spark(home: Path, files: list[Path]) -> None:
    """Write ``conf/`` below `home`, which Spark's own launchers read.

    Sessions of Alluvium need none of it. `dbt debug` does: dbt loads no plugin for it, so it makes a session of its
    own. And ``.venv/bin/pyspark`` and ``spark-sql`` then know Delta too.

    Args:
        home: Spark's directory inside the environment.
        files: the jars.
    """
    conf = home / "conf"
    conf.mkdir(exist_ok=True)
    class_path = ":".join(map(str, files))
    (conf / "spark-defaults.conf").write_text(f"{session.CLASS_PATH} {class_path}\n", encoding="utf-8")
    shutil.copyfile(session.LOGGING, conf / session.LOGGING.name)
    (conf / "spark-env.sh").write_text(
        f'JAVA_HOME="$("{sys.executable}" -m alluvium.runtime.java)" && export JAVA_HOME\n'
        f'export PYSPARK_PYTHON="{sys.executable}"\n',
        encoding="utf-8",
    )


def main() -> int:
    """Print what is there, or one sentence that says what to do."""
    import pyspark

    try:
        files = jars.class_path()
    except AlluviumError as error:
        print(error, file=sys.stderr)
        return 1
    configure_spark(Path(pyspark.__file__).parent, files)
    size = sum(file.stat().st_size for file in files) / 1e6
    print(f"{len(files)} jars of Spark, {size:.0f} MB, in {files[0].parent}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

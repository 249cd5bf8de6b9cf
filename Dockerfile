# The kit for grading, without a course: docs/deployment.md describes how to start it.
# constraints.txt was made under this version of Python.
FROM python:3.11-slim

RUN useradd --create-home --uid 1000 grader

WORKDIR /tmp/kit
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY autograder ./autograder
# Installs the CPU build of torch, because GPU builds take gigabytes, and compiles bytecode once.
RUN python -m pip install --no-cache-dir --constraint constraints.txt uv \
    && uv pip install --system --no-cache --compile-bytecode --torch-backend cpu \
        --constraint constraints.txt ".[instructor]" \
    && rm -rf /tmp/kit

USER grader
# nbgrader and Jupyter write settings there; the user of `docker run --user` has no home.
ENV HOME=/tmp
WORKDIR /course
ENTRYPOINT ["autograder"]
CMD ["--help"]

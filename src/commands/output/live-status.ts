import { toPrintable } from '../../lib/text.ts';
import type { OverviewJson } from '../../status/views/fleet-overview.ts';
import { formatClusterLine, formatStatus } from './status-table.ts';

/** Where a live table is written. */
export interface LiveOutput {
  readonly isTTY?: boolean;
  /** Size of a terminal; a terminal that does not tell has 24 lines of 80 characters. */
  readonly columns?: number;
  readonly rows?: number;
  write(text: string): unknown;
}

/** A table that follows changes. A terminal is redrawn in place; elsewhere each change of a Cluster is a line. */
export class LiveStatus {
  readonly #output: LiveOutput;
  #drawn = 0;
  #shown: ReadonlyMap<string, string> = new Map();
  #problem: string | undefined;

  constructor(output: LiveOutput) {
    this.#output = output;
  }

  /** `problem`: why the overview may be old. */
  show(overview: OverviewJson, problem: string | undefined, now: Date): void {
    if (this.#output.isTTY) this.#redraw(overview, problem, now);
    else this.#append(overview, problem, now);
  }

  #redraw(overview: OverviewJson, problem: string | undefined, now: Date): void {
    const { columns = 80, rows = 24 } = this.#output;
    const all = [
      ...(problem === undefined ? [] : [toPrintable(describeProblem(problem)), '']),
      ...formatStatus(overview, now),
    ];
    // Lines above the screen cannot be redrawn. Problems come first, so the rest may be cut off.
    const most = Math.max(2, rows - 2);
    const lines = all.length <= most ? all : [...all.slice(0, most - 1), `… and ${all.length - most + 1} more lines`];
    const erase = this.#drawn > 0 ? `\x1b[${this.#drawn}A\x1b[0J` : '';
    this.#output.write(`${erase}${lines.map((line) => line.slice(0, columns - 1)).join('\n')}\n`);
    this.#drawn = lines.length;
  }

  #append(overview: OverviewJson, problem: string | undefined, now: Date): void {
    const time = now.toISOString().slice(0, 19);
    const states = new Map(
      overview.clusters.map(({ since: _, ...row }) => [`${row.namespace}/${row.name}`, JSON.stringify(row)]),
    );
    const lines = overview.clusters
      .filter(({ namespace, name }) => {
        const key = `${namespace}/${name}`;
        return this.#shown.get(key) !== states.get(key);
      })
      .map((row) => formatClusterLine(row, now));
    const gone = [...this.#shown.keys()].filter((key) => !states.has(key)).map((key) => `${key}  deleted`);
    const problemLine = problem === undefined || problem === this.#problem ? [] : [describeProblem(problem)];
    this.#shown = states;
    this.#problem = problem;
    for (const line of [...problemLine, ...lines, ...gone]) this.#output.write(`${time}Z  ${toPrintable(line)}\n`);
  }
}

const describeProblem = (problem: string): string => `This may be old, because changes cannot be watched: ${problem}`;

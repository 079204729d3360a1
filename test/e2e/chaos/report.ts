import type { FleetLayout } from './fleet-layout.ts';
import type { SurvivedDay } from './run-chaos.ts';

export interface ChaosReport {
  readonly seed: number;
  readonly layout: FleetLayout;
  readonly machines: number;
  readonly days: readonly SurvivedDay[];
  /** Number of days in the schedule. */
  readonly planned: number;
  /** The last log line of each process of the provider that ended by itself; another one was started. */
  readonly deaths: readonly string[];
}

const row = (cells: readonly (string | number)[]): string => `| ${cells.join(' | ')} |`;
const median = (sorted: readonly number[]): number => sorted[Math.floor(sorted.length / 2)] ?? 0;

/** For each kind of event: how often it happened, and how long the recovery took. */
function recoveries(days: readonly SurvivedDay[]): string[] {
  const kinds = new Map<string, number[]>();
  for (const { strikes, minutes } of days)
    for (const strike of strikes) {
      const kind = strike.replace(/ \([^()]*\)$/, '');
      kinds.set(kind, [...(kinds.get(kind) ?? []), minutes]);
    }
  return [...kinds]
    .map(([kind, times]) => [kind, times.sort((a, b) => a - b)] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([kind, times]) => row([kind, times.length, median(times), times.at(-1) ?? 0]));
}

/** A year of a fleet, in Markdown. */
export function formatReport({ seed, layout, machines, days, planned, deaths }: ChaosReport): string {
  const events = days.reduce((sum, { strikes }) => sum + strikes.length, 0);
  return [
    `# Chaos in a fleet of ${layout.clusters.length} clusters, seed ${seed}`,
    '',
    `${machines} machines; ${events} events on ${days.length} of ${planned} days survived. On each of these days every cluster`,
    'became `Ready` and up to date again, no etcd had begun anew, no marker was lost, no machine existed twice or without its',
    `Machine, and every kubeconfig worked. The provider ended by itself ${deaths.length} times${deaths.length > 0 ? ':' : '.'}`,
    '',
    ...deaths.flatMap((line) => [`    ${line.slice(0, 400)}`, '']),
    '| Event | Times | Median minutes | Longest |',
    '| --- | --- | --- | --- |',
    ...recoveries(days),
    '',
    'Minutes of the world, from the events of a day to the end of its last recovery.',
    '',
    '| Day | Events | Minutes | Memory in MiB | Handles |',
    '| --- | --- | --- | --- | --- |',
    ...days.map(({ day, strikes, minutes, usage }) =>
      row([day, strikes.join('; '), minutes, usage.residentMiB, usage.handles]),
    ),
    '',
  ].join('\n');
}

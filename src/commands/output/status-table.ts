import { toPrintable } from '../../lib/text.ts';
import type { ConfigRolloutJson, HostsJson } from '../../status/api-types.ts';
import type { OverviewJson, OverviewRowJson } from '../../status/views/fleet-overview.ts';
import { formatAge } from './ages.ts';

const header = [
  'CLUSTER',
  'HEALTH',
  'MACHINES',
  'KUBERNETES',
  'TALOS',
  'UP-TO-DATE',
  'BACKUP',
  'SINCE',
  'WHY',
] as const;

/** Length of the last column where the width of the terminal is not known. */
const maxWhy = 100;

/** The overview as lines for a terminal: the Clusters, then the rollouts and the Hosts. */
export function formatStatus({ clusters, rollouts, hosts }: OverviewJson, now: Date): string[] {
  return [
    ...(clusters.length > 0 ? formatTable(clusters.map((row) => toCells(row, now))) : ['There are no Clusters.']),
    ...(rollouts.length > 0 ? ['', ...rollouts.map(describeRollout)] : []),
    ...(hosts ? ['', describeHosts(hosts)] : []),
  ];
}

/** A Cluster as a line of its own, for output that is not redrawn. */
export const formatClusterLine = (row: OverviewRowJson, now: Date): string => toCells(row, now).join('  ').trimEnd();

function formatTable(cells: readonly (readonly string[])[]): string[] {
  const rows = [header, ...cells];
  const widths = header.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

function toCells(row: OverviewRowJson, now: Date): string[] {
  const { cause, backup } = row;
  const why = cause ? `${cause.reason}: ${cause.message}` : '';
  return [
    `${row.namespace}/${row.name}`,
    row.health,
    `${row.readyMachines}/${row.machines}`,
    row.kubernetesVersion ?? '-',
    row.talosVersion ?? '-',
    describeUpToDate(row),
    backup ? `${formatAge(backup.lastSuccess, now)}${backup.failures > 0 ? ' (fails)' : ''}` : '-',
    formatAge(row.since, now),
    why.length > maxWhy ? `${why.slice(0, maxWhy - 1)}…` : why,
  ].map(toPrintable);
}

function describeUpToDate({ upToDate, pendingMachines, machines }: OverviewRowJson): string {
  if (upToDate === undefined) return '-';
  return upToDate ? 'yes' : `no (${pendingMachines}/${machines} wait)`;
}

const describeRollout = ({ config, total, updated, updating, failed, isPaused }: ConfigRolloutJson): string =>
  toPrintable(
    `Rollout of ProviderConfig ${config}: ${updated} of ${total} machines updated, ${updating} being updated, ${failed} failed${isPaused ? ', paused' : ''}.`,
  );

const describeHosts = ({ total, free, inUse, failed }: HostsJson): string =>
  `Hosts: ${total}, of which ${free} free, ${inUse} in use, ${failed} failed.`;

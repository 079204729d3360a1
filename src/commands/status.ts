import { systemClock } from '../lib/clock.ts';
import { buildOverview, type OverviewJson } from '../status/views/fleet-overview.ts';
import type { StatusSettings } from './flags/status-settings.ts';
import { type LiveOutput, LiveStatus } from './output/live-status.ts';
import { formatStatus } from './output/status-table.ts';
import { formatStructured } from './output/structured-output.ts';
import { listFleet } from './read-only/list-fleet.ts';
import { openKubeClient } from './read-only/open-kube-client.ts';
import type { ReadOnlyCommandContext } from './read-only/read-only-session.ts';
import { type FleetWatch, type WatchedFleet, watchFleet } from './read-only/watch-fleet.ts';

/** A user waits for it. */
const timeoutSeconds = 120;

interface StatusOptions extends StatusSettings, ReadOnlyCommandContext {
  /** Where changes are drawn; default: standard output. */
  readonly live?: LiveOutput;
}

/** Prints every Cluster with its state. Returns whether all is well, as far as the exit code is to tell. */
export async function runStatus(options: StatusOptions): Promise<boolean> {
  const kube = openKubeClient(options);
  try {
    const signal = AbortSignal.any([options.signal, AbortSignal.timeout(timeoutSeconds * 1000)]);
    // Before a watch, too: a missing right or a wrong address ends the command with its error.
    const overview = buildOverview(await listFleet(kube, options.namespace, signal));
    if (options.watch) {
      const { namespace, signal: stopped } = options;
      await followFleet({ kube, namespace, clock: systemClock }, options.live ?? process.stdout, stopped);
      return true;
    }
    options.print(formatOverview(overview, options.output));
    return !options.exitCode || overview.clusters.every(({ health }) => isReadyHealth.has(health));
  } finally {
    await kube.close();
  }
}

async function followFleet(watch: FleetWatch, output: LiveOutput, signal: AbortSignal): Promise<void> {
  const live = new LiveStatus(output);
  const show = ({ problem, ...fleet }: WatchedFleet): void =>
    live.show(buildOverview(fleet), problem, watch.clock.now());
  await watchFleet(watch, show, signal);
}

/** `attention` is ready, too. */
const isReadyHealth: ReadonlySet<string> = new Set(['ready', 'attention']);

const formatOverview = (overview: OverviewJson, output: StatusSettings['output']): string =>
  output === 'table' ? formatStatus(overview, systemClock.now()).join('\n') : formatStructured(overview, output);

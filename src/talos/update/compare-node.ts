import { shortHash } from '../../lib/hash.ts';
import type { TalosClient } from '../client/client.ts';
import type { TalosCallOptions } from '../client/connection.ts';
import { readOwnConfiguration } from '../client/own-configuration.ts';
import { type RunningVersions, readRunningVersions } from '../client/running-versions.ts';
import { assessChanges } from '../config/compare/assess-changes.ts';
import { type ConfigChange, listConfigChanges } from '../config/compare/config-changes.ts';
import { findUpgradeProblem } from '../upgrade-path.ts';
import { minorOf } from '../versions.ts';
import type { DesiredNode, NodeChanges } from './update-context.ts';

/** The result of a comparison, with what it depends on: the next one asks only for what may have changed since. */
export interface ComparedNode {
  readonly found: NodeChanges;
  /** The desired state. */
  readonly revision: string;
  /** Hash of the active configuration. */
  readonly active: string;
  /** Other versions of the system run after a restart only. */
  readonly bootId: string;
}

/** The last comparison. `isSameBoot`: the node has certainly not restarted since. */
export interface FormerComparison extends ComparedNode {
  readonly isSameBoot: boolean;
}

/** Fields that a user sees: the installer in the configuration follows from version and schematic. */
const installerField = 'machine.install.image';

/**
 * Compares the system and the active configuration of the node with the desired ones. Read-only. Throws
 * TALOS_FOREIGN_NODE if another machine answers.
 */
export async function compareNode(
  client: TalosClient,
  desired: DesiredNode,
  role: 'controlplane' | 'worker',
  options: TalosCallOptions,
  former?: FormerComparison,
): Promise<ComparedNode> {
  const configuration = await readOwnConfiguration(client, desired, options);
  const active = shortHash(configuration.reveal());
  const bootId = former?.isSameBoot ? former.bootId : await client.bootId(options);
  const last = former?.bootId === bootId ? former : undefined;
  const { revision } = desired;
  // A node that has refused a configuration may take it later.
  if (last?.active === active && last.revision === revision && last.found.rejection === undefined)
    return { found: last.found, revision, active, bootId };
  const listed = listConfigChanges(configuration, desired.configuration);
  const hasFollowed = last?.revision === revision && listed.length === 0 && isLive(last.found);
  const running =
    last && (last.active === active || hasFollowed)
      ? last.found.running
      : await readRunningVersions(client, role, options);
  const found = await assess(client, { desired, running, listed }, options);
  return { found, revision, active, bootId };
}

/** After such changes the same versions run. */
const isLive = ({ changes, rejection }: NodeChanges): boolean =>
  rejection === undefined && changes.every((change) => change.class === 'live');

interface Comparison {
  readonly desired: DesiredNode;
  readonly running: RunningVersions;
  /** Differences between the active and the desired configuration. */
  readonly listed: readonly ConfigChange[];
}

async function assess(
  client: TalosClient,
  { desired, running, listed }: Comparison,
  options: TalosCallOptions,
): Promise<NodeChanges> {
  const system = listSystemChanges(running, desired);
  const changes = listed.filter(({ field }) => field !== installerField);
  const problem = findUpgradeProblem({
    running: running.talosVersion,
    desired: desired.talosVersion,
    kubernetesVersion: desired.kubernetesVersion,
  });
  if (problem !== undefined) return { running, changes: [...system, ...changes], rejection: problem };
  // Another minor has another form of the configuration, which only its own nodes can check.
  if (minorOf(running.talosVersion) !== minorOf(desired.talosVersion))
    return { running, changes: [...system, ...changes] };
  const input = { desired: desired.configuration, changes, version: running.talosVersion };
  const assessed = await assessChanges(client, input, options);
  return { ...assessed, running, changes: [...system, ...assessed.changes] };
}

function listSystemChanges(running: RunningVersions, desired: DesiredNode): ConfigChange[] {
  const isOtherVersion = running.talosVersion !== desired.talosVersion;
  return [
    ...(isOtherVersion ? [{ field: 'talos.version', class: 'os' as const }] : []),
    ...(hasOtherSchematic(running, desired) ? [{ field: 'talos.schematic', class: 'os' as const }] : []),
  ];
}

/** A node that reports no schematic has an image that no factory has made: only its version can be compared. */
const hasOtherSchematic = ({ schematic }: Pick<RunningVersions, 'schematic'>, desired: DesiredNode): boolean =>
  schematic !== undefined && schematic !== desired.schematic;

export const hasDesiredSystem = (
  running: Pick<RunningVersions, 'talosVersion' | 'schematic'>,
  desired: DesiredNode,
): boolean => running.talosVersion === desired.talosVersion && !hasOtherSchematic(running, desired);

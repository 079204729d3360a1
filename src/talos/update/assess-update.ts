import { highestClass } from '../../engine/change-class.ts';
import type { Facts } from '../../engine/step.ts';
import type { TalosClient } from '../client/client.ts';
import type { TalosCallOptions } from '../client/connection.ts';
import { readOwnConfiguration } from '../client/own-configuration.ts';
import { type RunningVersions, readRunningVersions } from '../client/running-versions.ts';
import { assessChanges } from '../config/compare/assess-changes.ts';
import { mayRestartApiServer } from '../config/compare/change-class.ts';
import { type ConfigChange, listConfigChanges } from '../config/compare/config-changes.ts';
import { findUpgradeProblem } from '../upgrade-path.ts';
import { minorOf } from '../versions.ts';
import { type DesiredNode, type NodeChanges, readFact, type UpdateStepContext, updateFacts } from './update-context.ts';

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
): Promise<NodeChanges> {
  const active = await readOwnConfiguration(client, desired.providerId, options);
  const running = await readRunningVersions(client, role, options);
  const system = listSystemChanges(running, desired);
  const listed = listConfigChanges(active, desired.configuration);
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

/** What the following steps need to know, or why the update cannot be made. */
export async function assessUpdate(
  client: TalosClient,
  context: UpdateStepContext,
  options: TalosCallOptions,
): Promise<{ readonly facts: Facts } | { readonly rejection: string }> {
  const { desired, facts, node } = context;
  const { running, changes, rejection } = context.compared ?? (await compareMachine(client, context, options));
  if (rejection !== undefined) return { rejection };
  const highest = highestClass(changes);
  if (highest === 'refused' || highest === 'replace') {
    const fields = changes.filter((change) => change.class === highest).map(({ field }) => field);
    return { rejection: `The change of ${fields.join(', ')} cannot be made on a running node. Take it back.` };
  }
  const staleBoot = readFact(facts, updateFacts.staleBoot);
  const isStale = staleBoot !== '' && staleBoot === (await client.bootId(options));
  const isOtherKubelet =
    running.kubernetesVersion !== undefined &&
    minorOf(running.kubernetesVersion) !== minorOf(desired.kubernetesVersion) &&
    changes.some((change) => change.class === 'kubernetes');
  const needsRestart = highest === 'restart' || highest === 'os' || highest === 'hardware';
  const disrupts = needsRestart || isStale || isOtherKubelet;
  // An earlier attempt may have written another system, which the next start would boot.
  const changesSystem = !hasDesiredSystem(running, desired) || readFact(facts, updateFacts.system) !== '';
  const restartsApi =
    node.role === 'controlplane' && (disrupts || changes.some(({ field }) => mayRestartApiServer(field)));
  return {
    facts: {
      [updateFacts.revision]: desired.revision,
      [updateFacts.disrupts]: disrupts,
      [updateFacts.restartsApi]: restartsApi,
      [updateFacts.changesSystem]: changesSystem,
      [updateFacts.needsImages]: changesSystem || changes.some((change) => change.class !== 'live'),
      [updateFacts.hardware]: changes.some((change) => change.class === 'hardware'),
    },
  };
}

/** The node and, if its platform can change it, the hardware. */
async function compareMachine(
  client: TalosClient,
  { desired, node, compareHardware }: UpdateStepContext,
  options: TalosCallOptions,
): Promise<NodeChanges> {
  const ofNode = await compareNode(client, desired, node.role, options);
  if (ofNode.rejection !== undefined) return ofNode;
  const hardware = (await compareHardware?.())?.changes ?? [];
  return { ...ofNode, changes: [...ofNode.changes, ...hardware] };
}

import { highestClass } from '../../engine/change-class.ts';
import type { Facts } from '../../engine/step.ts';
import type { TalosClient } from '../client/client.ts';
import type { TalosCallOptions } from '../client/connection.ts';
import { mayRestartApiServer, mayRestartControllers, restartsKubelet } from '../config/compare/change-class.ts';
import { minorOf } from '../versions.ts';
import { compareNode, hasDesiredSystem } from './compare-node.ts';
import { describeKubelet } from './component-restarts.ts';
import { type NodeChanges, readFact, type UpdateStepContext, updateFacts } from './update-context.ts';

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
  const isControlPlane = node.role === 'controlplane';
  // What an update that is in hand has begun to change is proven at its end, although the node may have it by now.
  const isInHand = readFact(facts, updateFacts.revision) !== '' && facts[updateFacts.disrupts] === false;
  const changesSome = (fact: string, restarts: (field: string) => boolean): boolean =>
    (isInHand && facts[fact] === true) || changes.some(({ field }) => restarts(field));
  const changesKubelet = changesSome(updateFacts.restartsKubelet, restartsKubelet);
  return {
    facts: {
      [updateFacts.revision]: desired.revision,
      [updateFacts.disrupts]: disrupts,
      [updateFacts.restartsApi]:
        isControlPlane && (disrupts || changesSome(updateFacts.restartsApi, mayRestartApiServer)),
      [updateFacts.restartsKubelet]: changesKubelet,
      ...(changesKubelet && { [updateFacts.kubeletBefore]: await describeKubelet(client, options) }),
      [updateFacts.restartsControllers]:
        isControlPlane && changesSome(updateFacts.restartsControllers, mayRestartControllers),
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
  const { found: ofNode } = await compareNode(client, desired, node.role, options);
  if (ofNode.rejection !== undefined) return ofNode;
  const hardware = (await compareHardware?.())?.changes ?? [];
  return { ...ofNode, changes: [...ofNode.changes, ...hardware] };
}

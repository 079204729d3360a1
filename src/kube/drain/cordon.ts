import type { KubeClient } from '../client/client.ts';
import { isConflict } from '../errors.ts';
import { Node } from './kinds.ts';

/** On a Node whose `spec.unschedulable` was set here. A cordon without it is that of somebody else. */
export const cordonedAnnotation = 'talos.clusters.openmcp.cloud/cordoned';

/** The kubelet and controllers write to the same object. */
const maxAttempts = 5;

type NodePatch = { readonly metadata: object; readonly spec: object } | undefined;

/** Marks the Node as unschedulable and notes that it was done here. A Node that already is so is left as it is. */
export async function cordonNode(client: KubeClient, node: string, signal: AbortSignal): Promise<void> {
  await ensureCordon(client, node, signal);
}

/** Cordons the Node and returns it; undefined if it does not exist. */
export async function ensureCordon(client: KubeClient, node: string, signal: AbortSignal): Promise<Node | undefined> {
  return await patchNode(client, { node, patchOf: cordonPatch }, signal);
}

/** Undoes a cordon that was set here. Does nothing for a missing Node and for the cordon of somebody else. */
export async function uncordonNode(client: KubeClient, node: string, signal: AbortSignal): Promise<void> {
  await patchNode(client, { node, patchOf: uncordonPatch }, signal);
}

function cordonPatch({ spec }: Node): NodePatch {
  if (spec?.unschedulable === true) return undefined;
  return { metadata: { annotations: { [cordonedAnnotation]: 'true' } }, spec: { unschedulable: true } };
}

function uncordonPatch({ metadata }: Node): NodePatch {
  if (metadata.annotations?.[cordonedAnnotation] === undefined) return undefined;
  // The mark also goes if somebody else has lifted the cordon: it must not explain a later cordon of theirs.
  return { metadata: { annotations: { [cordonedAnnotation]: null } }, spec: { unschedulable: null } };
}

/** Every patch is conditional on the state that it was decided from, so that no cordon of somebody else is taken over. */
async function patchNode(
  client: KubeClient,
  { node: name, patchOf }: { readonly node: string; patchOf(node: Node): NodePatch },
  signal: AbortSignal,
): Promise<Node | undefined> {
  for (let attempt = 1; ; attempt += 1) {
    const node = await client.find(Node, { name }, signal);
    const patch = node && patchOf(node);
    if (!node || !patch) return node;
    const { resourceVersion } = node.metadata;
    try {
      return await client.merge(Node, { name }, patch, resourceVersion ? { resourceVersion } : {}, signal);
    } catch (error) {
      if (!isConflict(error) || attempt >= maxAttempts) throw error;
    }
  }
}

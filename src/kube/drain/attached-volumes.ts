import type { KubeClient } from '../client/client.ts';
import type { ObjectKey } from '../resource.ts';
import { type Node, PersistentVolume, PersistentVolumeClaim, type Pod, VolumeAttachment } from './kinds.ts';

/** Claims of Pods that stay on one node. Beyond them volumes count as those of Pods that have left. */
const maxClaims = 100;

/** What is attached to a Node, from its status and from the VolumeAttachments. */
interface VolumesOfNode {
  readonly node: Node;
  readonly attachments: readonly VolumeAttachment[];
  /** The volumes of Pods that stay. */
  readonly inUse: readonly PersistentVolume[];
}

/** Names of the volumes that are attached to the Node, without those of Pods that stay there. */
export async function listAttachedVolumes(
  client: KubeClient,
  { node, staying }: { readonly node: Node; readonly staying: readonly Pod[] },
  signal: AbortSignal,
): Promise<readonly string[]> {
  const { items: attachments } = await client.list(VolumeAttachment, {}, signal);
  const all = { node, attachments, inUse: [] };
  if (findAttachedVolumes(all).length === 0) return [];
  return findAttachedVolumes({ ...all, inUse: await findVolumesOf(client, staying, signal) });
}

/** By name of the PersistentVolume where it is known, else as the status of the Node names it. */
export function findAttachedVolumes({ node, attachments, inUse }: VolumesOfNode): readonly string[] {
  const names = new Set(inUse.map(({ metadata }) => metadata.name));
  const handles = new Set(inUse.flatMap(attachedNameOf));
  const attached = attachments
    .filter(({ spec, status }) => spec?.nodeName === node.metadata.name && status?.attached === true)
    .map(({ metadata, spec }) => spec?.source?.persistentVolumeName ?? metadata.name)
    .filter((name) => !names.has(name));
  const reported = (node.status?.volumesAttached ?? []).map(({ name }) => name).filter((name) => !handles.has(name));
  // Both sources show the same volumes under different names.
  return attached.length >= reported.length ? attached : reported;
}

/** The name of a volume of a CSI driver in `status.volumesAttached`. */
function attachedNameOf({ spec }: PersistentVolume): readonly string[] {
  const { driver, volumeHandle } = spec?.csi ?? {};
  return driver && volumeHandle ? [`kubernetes.io/csi/${driver}^${volumeHandle}`] : [];
}

async function findVolumesOf(
  client: KubeClient,
  pods: readonly Pod[],
  signal: AbortSignal,
): Promise<readonly PersistentVolume[]> {
  const keys = pods.flatMap(claimsOf).slice(0, maxClaims);
  const claims = await Promise.all(keys.map((key) => client.find(PersistentVolumeClaim, key, signal)));
  const names = new Set(claims.flatMap((claim) => claim?.spec?.volumeName ?? []));
  const volumes = await Promise.all([...names].map((name) => client.find(PersistentVolume, { name }, signal)));
  return volumes.filter((volume) => volume !== undefined);
}

function claimsOf({ metadata: { namespace, name: pod }, spec }: Pod): readonly ObjectKey[] {
  return (spec?.volumes ?? []).flatMap(({ name, persistentVolumeClaim, ephemeral }) => {
    const claim = persistentVolumeClaim?.claimName ?? (ephemeral ? `${pod}-${name}` : undefined);
    return claim === undefined || claim === '' ? [] : [{ namespace, name: claim }];
  });
}

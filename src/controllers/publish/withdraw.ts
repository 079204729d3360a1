import type { ClusterIdentity } from '../../api/cluster-identity.ts';
import { fleetName } from '../../api/names.ts';
import { Secret } from '../../kube/core-types.ts';
import { isNotFound, KubeError } from '../../kube/errors.ts';
import type { KubeObject, ObjectKey, ResourceType } from '../../kube/resource.ts';
import type { Services } from '../shared/services.ts';
import { describeHeld, type PublicationProblem } from './decide-form.ts';
import { InventoryProfile } from './inventory/inventory-types.ts';
import { type PublicationPlace, publishedSecretName } from './publication.ts';
import { classifyPublished } from './published-secret.ts';

interface PublishedObject {
  readonly type: ResourceType;
  readonly key: ObjectKey;
}

/** In the order of withdrawal: a ClusterProfile must not outlive its credentials. */
function listObjects({ form, namespace }: PublicationPlace, cluster: ClusterIdentity): PublishedObject[] {
  const secret = { type: Secret, key: { namespace, name: publishedSecretName(form, cluster) } };
  const profile = { type: InventoryProfile, key: { namespace, name: fleetName(cluster) } };
  return form === 'clusterProfile' ? [profile, secret] : [secret];
}

/**
 * Deletes what was published in one form, unless it belongs to others. Returns what is still there, and undefined when
 * nothing is left.
 */
export async function withdrawForm(
  services: Pick<Services, 'kube' | 'provider'>,
  place: PublicationPlace,
  cluster: ClusterIdentity,
  signal: AbortSignal,
): Promise<PublicationProblem | undefined> {
  try {
    for (const object of listObjects(place, cluster)) {
      const left = await withdrawObject(services, object, { ...place, cluster }, signal);
      if (left) return left;
    }
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof KubeError)) throw error;
    return { reason: 'Withdrawing', message: `What was published cannot be deleted yet: ${error.message}` };
  }
}

async function withdrawObject(
  { kube, provider }: Pick<Services, 'kube' | 'provider'>,
  { type, key }: PublishedObject,
  owner: Pick<PublicationPlace, 'form'> & { readonly cluster: ClusterIdentity },
  signal: AbortSignal,
): Promise<PublicationProblem | undefined> {
  const find = async (): Promise<KubeObject | undefined> => {
    const object = await findIfServed(() => kube.find(type, key, signal));
    return object && classifyPublished(object, owner, provider) === 'own' ? object : undefined;
  };
  const present = await find();
  if (!present) return undefined;
  const { uid } = present.metadata;
  if (!present.metadata.deletionTimestamp) await kube.remove(type, key, uid ? { uid } : {}, signal);
  const left = await find();
  return left && describeHeld(type.kind, left);
}

/** Nothing is left of a kind that is not served any more. */
async function findIfServed<T>(find: () => Promise<T | undefined>): Promise<T | undefined> {
  try {
    return await find();
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

import { isDeepStrictEqual } from 'node:util';
import { type Condition, correctTransitionTime } from '../../../api/conditions.ts';
import { fleetName, group } from '../../../api/names.ts';
import { formatTime } from '../../../lib/text.ts';
import { toBase64 } from '../../../talos/secrets/pem.ts';
import type { ApiServerEndpoint } from '../../access-request/kubeconfig.ts';
import { type InventoryOptions, type Publication, publishedSecretName } from '../publication.ts';
import { describeMarks } from '../published-secret.ts';
import { clusterIdName, clusterSetName } from './cluster-properties.ts';
import { type AccessProvider, type ClusterAttribute, InventoryProfile } from './inventory-types.ts';

/** What a profile says of its cluster. */
export interface ClusterFacts {
  readonly server: ApiServerEndpoint;
  /** UID of its namespace kube-system, which tells clusters of one name apart. */
  readonly id: string;
  readonly kubernetes: string | undefined;
  readonly talos: string | undefined;
  readonly platform: string | undefined;
  /** The ClusterProperties of others in the cluster. */
  readonly mirrored: readonly ClusterAttribute[];
  readonly health: 'True' | 'False';
}

type ProfileStatus = NonNullable<InventoryProfile['status']>;

const managerLabel = 'x-k8s.io/cluster-manager';
/** A property of the profile itself, so that it is known for which cluster it was made. */
const idProperty = `cluster-id.${group}`;
const maxValueLength = 1024;

/** The profile without its status. */
export function describeInventoryProfile(
  publication: Publication & { readonly inventory: InventoryOptions },
  provider: string,
): InventoryProfile {
  const { cluster, inventory, namespace } = publication;
  const marks = describeMarks(publication, provider);
  return {
    apiVersion: `${InventoryProfile.group}/${InventoryProfile.version}`,
    kind: InventoryProfile.kind,
    metadata: {
      name: fleetName(cluster),
      namespace,
      labels: { ...marks.labels, [managerLabel]: inventory.clusterManager },
      annotations: marks.annotations,
    },
    spec: {
      displayName: `${cluster.namespace}/${cluster.name}`,
      clusterManager: { name: inventory.clusterManager },
    },
  };
}

/** What happens to the profile that exists. */
export type ProfileChange = 'keep' | 'patch' | 'replace';

/** Another manager, or another cluster under this name, is another profile: consumers must see that the former one ends. */
export function planProfile(wanted: InventoryProfile, found: InventoryProfile, { id }: ClusterFacts): ProfileChange {
  const known = found.status?.properties?.find(({ name }) => name === idProperty)?.value;
  const isOther = found.spec.clusterManager.name !== wanted.spec.clusterManager.name;
  if (isOther || (known !== undefined && known !== id)) return 'replace';
  const includes = (present: Record<string, string> = {}, own: Record<string, string> = {}): boolean =>
    Object.entries(own).every(([key, value]) => present[key] === value);
  const { labels, annotations } = found.metadata;
  const isSame =
    includes(labels, wanted.metadata.labels) &&
    includes(annotations, wanted.metadata.annotations) &&
    found.spec.displayName === wanted.spec.displayName;
  return isSame ? 'keep' : 'patch';
}

/** The status, with the conditions that others have added. */
export function describeProfileStatus(
  publication: Publication & { readonly inventory: InventoryOptions },
  facts: ClusterFacts,
  found: ProfileStatus | undefined,
  now: Date,
): ProfileStatus {
  const { clusterSet } = publication.inventory;
  const own = [describeHealth(facts.health), ...(clusterSet === undefined ? [] : [describeMembership(clusterSet)])];
  return {
    ...(facts.kubernetes === undefined ? {} : { version: { kubernetes: `v${facts.kubernetes}` } }),
    properties: describeProperties(publication.inventory, facts),
    conditions: mergeProfileConditions(found?.conditions ?? [], own, now),
    accessProviders: [describeAccessProvider(publication, facts.server)],
  };
}

type ProfileCondition = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>;

const describeHealth = (health: ClusterFacts['health']): ProfileCondition => ({
  type: 'ControlPlaneHealthy',
  status: health,
  ...(health === 'True'
    ? { reason: 'ProbeSucceeded', message: 'The API server answers authenticated requests.' }
    : { reason: 'ProbeFailed', message: 'The API server does not answer.' }),
});

const describeMembership = (clusterSet: string): ProfileCondition => ({
  type: 'Joined',
  status: 'True',
  reason: 'Member',
  message: `The cluster is a member of ClusterSet ${clusterSet}.`,
});

/** Conditions of types that are not ours stay, except for a membership that has ended. */
export function mergeProfileConditions(
  found: readonly Condition[],
  own: readonly ProfileCondition[],
  now: Date,
): Condition[] {
  const others = found.filter(({ type }) => type !== 'Joined' && !own.some((one) => one.type === type));
  const merged = own.map((one): Condition => {
    const before = found.find(({ type }) => type === one.type);
    const lastTransitionTime = before?.status === one.status ? before.lastTransitionTime : formatTime(now);
    return correctTransitionTime({ ...one, lastTransitionTime }, now);
  });
  return [...others, ...merged].sort((a, b) => (a.type < b.type ? -1 : 1));
}

/** Each name once: our own first, then the properties of the cluster. Values that do not fit are left out. */
function describeProperties({ clusterSet }: InventoryOptions, facts: ClusterFacts): ClusterAttribute[] {
  const { id, talos, platform, mirrored } = facts;
  const own = [
    { name: idProperty, value: id },
    ...(talos === undefined ? [] : [{ name: `talos-version.${group}`, value: talos }]),
    ...(platform === undefined ? [] : [{ name: `platform.${group}`, value: platform }]),
    ...(clusterSet === undefined
      ? []
      : [
          { name: clusterIdName, value: id },
          { name: clusterSetName, value: clusterSet },
        ]),
  ];
  const byName = new Map([...mirrored, ...own].map(({ name, value }) => [name, value]));
  return [...byName]
    .filter(([, value]) => value.length > 0 && value.length <= maxValueLength)
    .map(([name, value]) => ({ name, value }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Nothing of it is secret: a plug-in of the consumer reads the Secret. */
function describeAccessProvider(
  { form, cluster, namespace, inventory }: Publication & { readonly inventory: InventoryOptions },
  { url, ca }: ApiServerEndpoint,
): AccessProvider {
  const secret = { name: publishedSecretName(form, cluster), namespace, key: 'kubeconfig' };
  return {
    name: inventory.accessProvider,
    cluster: {
      server: url,
      'certificate-authority-data': toBase64(ca),
      extensions: [{ name: 'client.authentication.k8s.io/exec', extension: secret }],
    },
  };
}

/** Whether a write would change something. The API server returns fields in another order. */
export const isSameStatus = (found: ProfileStatus | undefined, wanted: ProfileStatus): boolean =>
  isDeepStrictEqual(comparable(found ?? {}), comparable(wanted));

const comparable = ({ version, properties = [], conditions = [], accessProviders = [] }: ProfileStatus) => ({
  kubernetes: version?.kubernetes,
  properties: new Map(properties.map(({ name, value }) => [name, value])),
  conditions: new Map(conditions.map(({ observedGeneration: _, ...condition }) => [condition.type, condition])),
  accessProviders: new Map(accessProviders.map(({ name, cluster }) => [name, cluster])),
});

import type { ClusterIdentity } from '../../../api/cluster-identity.ts';
import { clusterIdentityKey } from '../../../api/cluster-identity.ts';
import type { ConditionReason } from '../../../api/conditions.ts';
import type { Machine } from '../../../api/machine.ts';
import { annotations } from '../../../api/names.ts';
import type { ProviderConfigSpec } from '../../../api/provider-config-spec.ts';
import type { Addressing } from '../../../engine/addressing.ts';
import { KubeError } from '../../../kube/errors.ts';
import { ProviderError } from '../../../lib/errors.ts';
import { LruMap } from '../../../lib/lru-map.ts';
import { toAuthority } from '../../../lib/net/ip.ts';
import type { ConfigDocument } from '../../../talos/config/config-document.ts';
import { buildConfigDocuments, findConfigProblems } from '../../../talos/config/machine-config.ts';
import { isAtLeastMinor } from '../../../talos/versions.ts';
import { readMachineFact } from '../../shared/machine-facts.ts';
import type { Services } from '../../shared/services.ts';
import { describeExampleNode } from '../../shared/spec/check-node-configs.ts';
import { type DeprecatedApi, readDeprecatedApis } from './checks/deprecated-apis.ts';
import { findRemovedSettings, listNodeImages } from './checks/find-removed-settings.ts';
import { findSkewProblem, findUnseenMachine } from './checks/find-skew-problem.ts';
import { type ImagePull, ImagePulls } from './image-pulls.ts';
import type { UpgradeHop } from './target-version.ts';
import { isControlPlane } from './versions.ts';

/** Whether the first component may change. */
export type Preparation =
  | { readonly kind: 'ready' }
  | { readonly kind: 'waits'; readonly message: string }
  /** A user has to change something. */
  | { readonly kind: 'blocked'; readonly reason: ConditionReason; readonly message: string };

export interface PreparationInput {
  readonly cluster: ClusterIdentity;
  readonly machines: readonly Machine[];
  readonly spec: ProviderConfigSpec;
  readonly addressing: Addressing;
  readonly hop: UpgradeHop;
  /** The reasons that a user has approved on the Cluster. */
  readonly approved: readonly string[];
}

/**
 * Everything that is checked before anything is touched, and then the images: a component must not be away while its
 * image is downloaded, or because it does not exist. Called again until it is ready; nothing is stored.
 */
export async function prepareUpgrade(
  services: Services,
  input: PreparationInput,
  signal: AbortSignal,
): Promise<Preparation> {
  const { hop, machines } = input;
  const blocked = (reason: ConditionReason, why: string): Preparation => {
    const message = `Kubernetes ${hop.from} is not upgraded to ${hop.to}: ${why}`;
    return { kind: 'blocked', reason, message };
  };
  const unseen = findUnseenMachine(machines);
  if (unseen) return waits(hop, `${unseen.metadata.name} has not reported its versions yet`);
  const skew = findSkewProblem(hop, machines);
  if (skew !== undefined) return blocked('UpgradeBlocked', skew);
  const configs = machines.map((machine) => renderExample(input, machine));
  const problems = configs.flatMap((config) => [...config.problems, ...findRemovedSettings(config.documents, hop)]);
  if (problems.length > 0) return blocked('UpgradeBlocked', describeList([...new Set(problems)]));
  const apis = await readApisInUse(services, input, signal);
  if ('message' in apis) return waits(hop, apis.message);
  if (apis.found.length > 0 && !input.approved.includes(deprecatedReason))
    return blocked(deprecatedReason, describeApis(apis.found));
  return pullAllImages(services, input, configs);
}

export const deprecatedReason = 'DeprecatedApisInUse' satisfies ConditionReason;

const waits = ({ to }: UpgradeHop, why: string): Preparation => ({
  kind: 'waits',
  message: `The upgrade of Kubernetes to ${to} is prepared: ${why}.`,
});

const maxListed = 5;
const describeList = (sentences: readonly string[]): string =>
  sentences.slice(0, maxListed).join(' ') +
  (sentences.length > maxListed ? ` And ${sentences.length - maxListed} more.` : '');

function describeApis(found: readonly DeprecatedApi[]): string {
  const named = found.slice(0, maxListed).map(({ api, removedIn }) => `${api} (not in ${removedIn})`);
  const more = found.length > maxListed ? ` and ${found.length - maxListed} more` : '';
  return `clients still request ${named.join(', ')}${more}. Change them, or approve with the annotation ${annotations.approve}: ${deprecatedReason} on the Cluster.`;
}

interface ExampleConfig {
  readonly documents: readonly ConfigDocument[];
  readonly problems: readonly string[];
}

/** The configuration of a node in the next version, with all patches, without its keys. */
function renderExample({ spec, addressing, hop }: PreparationInput, { spec: machine }: Machine): ExampleConfig {
  const { components: _, ...rest } = machine;
  const example = describeExampleNode(spec, { ...rest, kubernetesVersion: hop.to }, addressing);
  const problems = findConfigProblems(example).map(({ from, message }) => (from ? `${from}: ${message}` : message));
  return { problems, documents: problems.length > 0 ? [] : buildConfigDocuments(example) };
}

/** Asks each API server at its own address: each knows only its own requests. */
async function readApisInUse(
  services: Services,
  { cluster, machines, hop }: PreparationInput,
  signal: AbortSignal,
): Promise<{ readonly found: readonly DeprecatedApi[] } | { readonly message: string }> {
  const known = knownApisOf(services);
  const key = `${clusterIdentityKey(cluster)} ${hop.to}`;
  const cached = known.get(key, services);
  if (cached) return { found: cached };
  const found = new Map<string, DeprecatedApi>();
  for (const machine of machines.filter(isControlPlane)) {
    try {
      for (const api of await readFrom(services, cluster, { machine, to: hop.to, signal })) found.set(api.api, api);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof KubeError || error instanceof ProviderError)) throw error;
      return {
        message: `the metrics of the API server of ${machine.metadata.name} cannot be read (${error.message.replace(/\.$/, '')})`,
      };
    }
  }
  known.set(key, [...found.values()], services);
  return { found: [...found.values()] };
}

async function readFrom(
  { targets }: Services,
  cluster: ClusterIdentity,
  { machine, to, signal }: { readonly machine: Machine; readonly to: string; readonly signal: AbortSignal },
): Promise<readonly DeprecatedApi[]> {
  const port = Number(new URL(machine.spec.endpoint ?? `https://any:${defaultPort}`).port || defaultPort);
  const server = `https://${toAuthority(addressOf(machine), port)}`;
  return await targets.atApiServer(cluster, server, (client) => readDeprecatedApis(client, to, signal));
}

const defaultPort = 6443;
const addressOf = (machine: Machine): string => readMachineFact(machine, 'address') ?? '';

/** The metrics of an API server have some megabytes, and this is asked every few seconds while images are pulled. */
const keepApisMs = 120_000;

class KnownApis {
  readonly #known = new LruMap<string, { readonly at: number; readonly found: readonly DeprecatedApi[] }>(1000);

  get(key: string, { clock }: Pick<Services, 'clock'>): readonly DeprecatedApi[] | undefined {
    const known = this.#known.get(key);
    return known && clock.monotonic() - known.at < keepApisMs ? known.found : undefined;
  }

  set(key: string, found: readonly DeprecatedApi[], { clock }: Pick<Services, 'clock'>): void {
    this.#known.set(key, { at: clock.monotonic(), found });
  }

  close(): void {}
}

const knownApisOf = ({ connections }: Pick<Services, 'connections'>): KnownApis =>
  connections.get('requested-deprecated-apis', () => new KnownApis());

function pullAllImages(services: Services, input: PreparationInput, configs: readonly ExampleConfig[]): Preparation {
  const pulls = input.machines.flatMap((machine, i) =>
    listPulls(services, input, machine, configs[i]?.documents ?? []),
  );
  const puller = services.connections.get('image-pulls', () => new ImagePulls(services.clock));
  const { done, total, failed } = puller.request(pulls);
  if (failed) {
    const why = `${failed.machine} cannot pull ${failed.image}: ${failed.message} Correct kubernetes.versions of the ProviderConfig or the registry; it is tried again.`;
    const message = `Kubernetes ${input.hop.from} is not upgraded to ${input.hop.to}: ${why}`;
    return { kind: 'blocked', reason: 'ImageNotPulled', message };
  }
  return done === total ? { kind: 'ready' } : waits(input.hop, `${done} of ${total} images are on the nodes`);
}

function listPulls(
  { targets }: Services,
  { cluster }: PreparationInput,
  machine: Machine,
  documents: readonly ConfigDocument[],
): ImagePull[] {
  const talosVersion = machine.status?.applied?.talosVersion ?? machine.spec.talosVersion;
  return listNodeImages(documents, machine.spec.role).map(({ image, isKubelet }) => ({
    key: `${machine.metadata.uid} ${image}`,
    machine: machine.metadata.name,
    image,
    pull: async (signal) => {
      const node = targets.talos(cluster, addressOf(machine));
      const namespace = isKubelet ? 'system' : 'kubernetes';
      try {
        if (isAtLeastMinor(talosVersion, '1.13')) await node.pullImage(image, namespace, { signal });
        else await node.pullImageLegacy(image, namespace, { signal });
      } catch (error) {
        // A node without this call pulls the image when it needs it.
        if (!(error instanceof ProviderError) || error.code !== 'TALOS_UNSUPPORTED') throw error;
      } finally {
        await node.close();
      }
    },
  }));
}

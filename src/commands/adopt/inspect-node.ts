import { labels } from '../../api/names.ts';
import { ProviderError } from '../../lib/errors.ts';
import { readMachineConfig } from '../../talos/client/api-server-pod.ts';
import type { TalosClient } from '../../talos/client/client.ts';
import type { EtcdHealth } from '../../talos/client/etcd-calls.ts';
import type { NodeMachineStatus } from '../../talos/client/node-calls.ts';
import { type RunningVersions, readRunningVersions } from '../../talos/client/running-versions.ts';
import { isMainYamlDocument, parseConfigYaml } from '../../talos/config/edit/config-yaml.ts';
import { toBase64 } from '../../talos/secrets/pem.ts';
import type { SecretsBundle } from '../../talos/secrets/secrets-bundle.ts';

export type NodeRole = 'controlplane' | 'worker';

/** What a node that is to be adopted reports about itself. No field is secret. */
export interface InspectedNode {
  readonly address: string;
  /** As the command names it. */
  readonly role: NodeRole;
  /** As its configuration has it. */
  readonly configuredRole: string;
  readonly status: NodeMachineStatus;
  readonly running: RunningVersions;
  readonly bootId: string;
  /** URL of the API server in its configuration. */
  readonly endpoint: string | undefined;
  /** Fields of its configuration that have other secrets than the bundle. */
  readonly differences: readonly string[];
  /** Its configuration has the label that this provider gives to the nodes that it makes. */
  readonly isOurs: boolean;
  /** Control plane: what its member of etcd reports. */
  readonly etcd: EtcdHealth | undefined;
}

/** A node that could not be inspected, with the reason as a sentence. */
export interface SilentNode {
  readonly address: string;
  readonly problem: string;
}

/** Asks one node, with a client that has the secrets of the bundle. Reads only. */
export async function inspectNode(
  node: TalosClient,
  role: NodeRole,
  bundle: SecretsBundle,
  signal: AbortSignal,
): Promise<InspectedNode | SilentNode> {
  const { address } = node;
  const options = { signal };
  try {
    const running = await readRunningVersions(node, role, options);
    const status = await node.machineStatus(options);
    const configuration = readConfiguration(await readMachineConfig(node, options), bundle);
    const bootId = await node.bootId(options);
    const isControlPlane = configuration.configuredRole === 'controlplane';
    const etcd = isControlPlane ? await node.etcdHealth(options) : undefined;
    return { address, role, status, running, bootId, etcd, ...configuration };
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof ProviderError) || error.retry === 'bug') throw error;
    return { address, problem: error.message };
  }
}

type ConfigurationFacts = Pick<InspectedNode, 'configuredRole' | 'endpoint' | 'differences' | 'isOurs'>;

function readConfiguration(text: Parameters<typeof parseConfigYaml>[0], bundle: SecretsBundle): ConfigurationFacts {
  const main = parseConfigYaml(text).find(isMainYamlDocument);
  const textAt = (path: string): string | undefined => {
    const value = main?.getIn(path.split('.'));
    return typeof value === 'string' && value !== '' ? value : undefined;
  };
  const expected = Object.entries(secretsByField(bundle));
  return {
    configuredRole: textAt('machine.type') ?? '',
    endpoint: textAt('cluster.controlPlane.endpoint'),
    differences: expected.flatMap(([field, value]) => {
      const found = textAt(field);
      return found === undefined || withoutSpace(found) === withoutSpace(value) ? [] : [field];
    }),
    isOurs: main?.hasIn(['machine', 'nodeLabels', labels.pool]) ?? false,
  };
}

const withoutSpace = (text: string): string => text.replace(/\s+/g, '');

/** What the nodes of a cluster have of its bundle. A worker lacks most of it. */
const secretsByField = ({ cluster, authorities, ...bundle }: SecretsBundle): Readonly<Record<string, string>> => ({
  'cluster.id': cluster.id,
  'cluster.secret': cluster.secret.reveal(),
  'cluster.token': bundle.bootstrapToken.reveal(),
  'machine.token': bundle.machineToken.reveal(),
  'machine.ca.crt': toBase64(authorities.os.certificate),
  'cluster.ca.crt': toBase64(authorities.kubernetes.certificate),
  'cluster.aggregatorCA.crt': toBase64(authorities.aggregator.certificate),
  'cluster.etcd.ca.crt': toBase64(authorities.etcd.certificate),
  'cluster.serviceAccount.key': toBase64(bundle.serviceAccountKey.reveal()),
  [`cluster.${bundle.etcdEncryption.kind}EncryptionSecret`]: bundle.etcdEncryption.key.reveal(),
});

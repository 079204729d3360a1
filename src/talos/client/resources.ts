import { timestampDate } from '@bufbuild/protobuf/wkt';
import { parse } from 'yaml';
import { ProviderError } from '../../lib/errors.ts';
import { type Resource as Message, State } from '../gen/cosi_pb.ts';
import type { TalosCallOptions, TalosConnection } from './connection.ts';
import { talosLimits } from './limits.ts';

/** The location of resources of one type. The namespace must be exact; there is no default. */
export interface TalosResourceKind {
  readonly namespace: string;
  readonly type: string;
}

/** One resource of a node, from its YAML form: only that form's keys are stable across Talos versions. */
export interface TalosResource {
  readonly id: string;
  /** Increases with each change. */
  readonly version: string;
  readonly phase: 'running' | 'tearingDown';
  readonly labels: Readonly<Record<string, string>>;
  /** By the clock of the node, which may have been set meanwhile; undefined if it does not say. */
  readonly created: Date | undefined;
  readonly spec: unknown;
}

/** The resources that this client reads (`pkg/machinery/resources` of Talos). */
export const resourceKinds = {
  machineStatus: { namespace: 'runtime', type: 'MachineStatuses.runtime.talos.dev' },
  systemDisk: { namespace: 'runtime', type: 'SystemDisks.block.talos.dev' },
  disk: { namespace: 'runtime', type: 'Disks.block.talos.dev' },
  /** By name, e.g. `EPHEMERAL`. */
  volume: { namespace: 'runtime', type: 'VolumeStatuses.block.talos.dev' },
  link: { namespace: 'network', type: 'LinkStatuses.net.talos.dev' },
  /** Id `v1alpha1` for the active one. Its YAML form is one text. */
  machineConfig: { namespace: 'config', type: 'MachineConfigs.config.talos.dev' },
  /** The extensions of the running image. The schematic of an image factory is one of them, and its version is the id. */
  extension: { namespace: 'runtime', type: 'ExtensionStatuses.runtime.talos.dev' },
  /** Id `kubelet`. */
  kubelet: { namespace: 'k8s', type: 'KubeletSpecs.kubernetes.talos.dev' },
  /** By service, while it runs: made anew whenever it is started, by Talos or after a crash. */
  service: { namespace: 'runtime', type: 'Services.v1alpha1.talos.dev' },
  /** By component; the manifest of the Pod. */
  staticPod: { namespace: 'k8s', type: 'StaticPods.kubernetes.talos.dev' },
  /** The bootstrap manifests, e.g. `10-kube-proxy`: lists of objects of Kubernetes. */
  manifest: { namespace: 'controlplane', type: 'Manifests.kubernetes.talos.dev' },
  /** Id `authentication-config`; since Talos 1.14, and only with API server documents. */
  authentication: { namespace: 'controlplane', type: 'AuthenticationConfigs.kubernetes.talos.dev' },
  /** Id `static-pods`: the concatenated versions of all files for static pods. */
  configStatus: { namespace: 'controlplane', type: 'ConfigStatuses.kubernetes.talos.dev' },
} as const satisfies Record<string, TalosResourceKind>;

/** Reads one resource. Returns undefined when the id does not exist. */
export async function findResource(
  connection: TalosConnection,
  kind: TalosResourceKind,
  id: string,
  options: TalosCallOptions = {},
): Promise<TalosResource | undefined> {
  try {
    const reply = await connection.call(State, `get ${kind.type}`, options, (client, call) =>
      client.get({ ...kind, id }, call),
    );
    return reply.resource ? toResource(reply.resource, connection) : undefined;
  } catch (error) {
    if (error instanceof ProviderError && error.code === 'TALOS_NOT_FOUND') return undefined;
    throw error;
  }
}

/** Lists all resources of a kind, in the order of the node. */
export function listResources(
  connection: TalosConnection,
  kind: TalosResourceKind,
  options: TalosCallOptions = {},
): Promise<readonly TalosResource[]> {
  return connection.call(State, `list ${kind.type}`, options, async (client, call) => {
    const found: TalosResource[] = [];
    let bytes = 0;
    for await (const { resource } of client.list({ ...kind }, call)) {
      if (!resource) continue;
      bytes += resource.spec?.yamlSpec.length ?? 0;
      if (found.length >= talosLimits.listItems || bytes > talosLimits.listBytes)
        throw unreadableResourceError(connection, `the list of ${kind.type} exceeds the limit`);
      found.push(toResource(resource, connection));
    }
    return found;
  });
}

const unreadableResourceError = ({ address }: TalosConnection, why: string): ProviderError =>
  new ProviderError('TALOS_CALL_FAILED', `${address}: ${why}.`);

/** Skips the check for duplicate keys: it takes quadratic time, and the node writes each key once. */
function parseSpec(yaml: string, connection: TalosConnection): unknown {
  if (yaml.length > talosLimits.resourceBytes)
    throw unreadableResourceError(connection, 'a resource exceeds the size limit');
  try {
    return parse(yaml, { uniqueKeys: false });
  } catch {
    // The parser's error quotes the text, which may hold a secret.
    throw unreadableResourceError(connection, 'a resource is not valid YAML');
  }
}

function toResource(message: Message, connection: TalosConnection): TalosResource {
  const { metadata, spec } = message;
  return {
    id: metadata?.id ?? '',
    version: metadata?.version ?? '',
    phase: metadata?.phase === 'tearingDown' ? 'tearingDown' : 'running',
    labels: { ...metadata?.labels },
    created: metadata?.created && timestampDate(metadata.created),
    spec: spec?.yamlSpec ? parseSpec(spec.yamlSpec, connection) : undefined,
  };
}

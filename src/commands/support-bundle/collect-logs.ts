import type { KubeObject, ResourceType } from '../../kube/resource.ts';
import type { BundleSession } from './bundle-session.ts';
import { redactValue } from './redact-object.ts';
import { redactText } from './redact-text.ts';

/** The fields of a Pod that a bundle has. Its environment is left out: users may set it to anything. */
interface Pod extends KubeObject {
  spec?: { nodeName?: string; containers?: PodContainer[]; initContainers?: PodContainer[] };
  status?: {
    phase?: string;
    reason?: string;
    message?: string;
    startTime?: string;
    conditions?: unknown[];
    containerStatuses?: ContainerStatus[];
    initContainerStatuses?: ContainerStatus[];
  };
}
interface PodContainer {
  name: string;
  image?: string;
  args?: string[];
  resources?: unknown;
}
interface ContainerStatus {
  name: string;
  restartCount?: number;
  ready?: boolean;
  imageID?: string;
  state?: unknown;
  lastState?: unknown;
}
const Pod: ResourceType<Pod> = { group: '', version: 'v1', kind: 'Pod', plural: 'pods', namespaced: true };

export const logLimits = { pods: 20, lines: 20_000, bytes: 8 * 2 ** 20 } as const;
/** What the API server may hold back after `limitBytes`: one line. */
const maxPodsRead = 500;
const imageName = 'cluster-provider-talos';

/** Adds the state of the provider's Pods, and the end of the logs of their containers. */
export async function collectPods(session: BundleSession): Promise<void> {
  const { kube, files, signal, stopped, podNamespace: namespace } = session;
  const list = async () => await kube.list(Pod, { namespace, maxItems: maxPodsRead }, signal);
  const found = await files.attempt('Pods and their logs', list, stopped);
  if (!found) return;
  const own = found.items.filter(isOfProvider);
  if (own.length === 0)
    files.leaveOut('Pods and their logs', `No Pod in namespace ${namespace} has the image ${imageName}.`);
  if (own.length > logLimits.pods) files.leaveOut('Pods', `There are ${own.length}: only ${logLimits.pods} are read.`);
  const pods = own.slice(0, logLimits.pods);
  const { value, hidden } = redactValue(pods.map(summarizePod));
  files.hidden += hidden;
  files.addYaml('pods.yaml', value);
  for (const pod of pods) for (const container of containersOf(pod)) await collectLogs(session, pod, container);
}

/** The operator and the chart label their Pods differently; the image is what they share. */
const isOfProvider = ({ metadata, spec }: Pod): boolean =>
  metadata.labels?.['app.kubernetes.io/name'] === imageName ||
  (spec?.containers ?? []).some(({ image = '' }) => image.includes(imageName));

function summarizePod({ metadata, spec, status }: Pod): object {
  const { name, namespace, creationTimestamp, deletionTimestamp, labels } = metadata;
  const containers = [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])];
  return {
    ...{ name, namespace, creationTimestamp, deletionTimestamp, labels, node: spec?.nodeName },
    containers: containers.map((one) => ({
      ...{ name: one.name, image: one.image, args: one.args, resources: one.resources },
    })),
    ...{ phase: status?.phase, reason: status?.reason, message: status?.message, conditions: status?.conditions },
    statuses: statusesOf(status),
  };
}

const statusesOf = (status: Pod['status']): readonly ContainerStatus[] => [
  ...(status?.initContainerStatuses ?? []),
  ...(status?.containerStatuses ?? []),
];

interface LoggedContainer {
  readonly name: string;
  /** It was restarted, and the log of its former run can be read. */
  readonly hasFormerRun: boolean;
}

function containersOf(pod: Pod): readonly LoggedContainer[] {
  const statuses = new Map(statusesOf(pod.status).map((status) => [status.name, status]));
  return [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])].map(({ name }) => ({
    name,
    hasFormerRun: (statuses.get(name)?.restartCount ?? 0) > 0,
  }));
}

async function collectLogs(session: BundleSession, { metadata }: Pod, container: LoggedContainer): Promise<void> {
  const path = `logs/${metadata.name}/${container.name}`;
  await collectLog(session, metadata, { container: container.name, previous: false, path: `${path}.log` });
  if (container.hasFormerRun)
    await collectLog(session, metadata, { container: container.name, previous: true, path: `${path}.previous.log` });
}

async function collectLog(
  { kube, files, signal, stopped }: BundleSession,
  { namespace = '', name }: Pod['metadata'],
  { container, previous, path }: { readonly container: string; readonly previous: boolean; readonly path: string },
): Promise<void> {
  const { lines: tailLines, bytes: limitBytes } = logLimits;
  const query = new URLSearchParams({
    ...{ container, previous: `${previous}`, timestamps: 'true' },
    ...{ tailLines: `${tailLines}`, limitBytes: `${limitBytes}` },
  });
  const target = `/api/v1/namespaces/${namespace}/pods/${name}/log?${query}`;
  const kept: string[] = [];
  let bytes = 0;
  const take = (line: string): void => {
    bytes += Buffer.byteLength(line) + 1;
    // An API server that does not know the limits must not fill the memory.
    if (bytes > 2 * limitBytes || kept.length > tailLines) throw new Error('The log is longer than was asked for.');
    kept.push(line);
  };
  await files.attempt(path, async () => await kube.scanLines(target, take, signal), stopped);
  if (kept.length === 0) return;
  // As one text: a key can have several lines.
  const { text, hidden } = redactText(`${kept.join('\n')}\n`);
  files.hidden += hidden;
  files.add(path, text);
  if (kept.length >= tailLines || bytes >= limitBytes)
    files.leaveOut(path, `Only the last ${tailLines} lines, and of these ${limitBytes} bytes, are read.`);
}

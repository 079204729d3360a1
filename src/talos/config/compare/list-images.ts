import { parseAllDocuments } from 'yaml';
import type { SecretString } from '../../../lib/secret-string.ts';
import { isRecord, valueAt } from '../config-document.ts';

/** An image of Kubernetes that a configuration names. */
export interface ConfigImage {
  readonly image: string;
  /** Without the leading `v`. */
  readonly version: string;
  readonly isKubelet: boolean;
}

const componentFields = [
  'cluster.apiServer.image',
  'cluster.controllerManager.image',
  'cluster.scheduler.image',
] as const;
const componentDocuments = ['KubeAPIServerConfig', 'KubeControllerManagerConfig', 'KubeSchedulerConfig'];

/** The images that the node itself runs: that of the kubelet, and those of the static Pods of a control plane. */
export function listImages(config: SecretString, role: 'controlplane' | 'worker'): ConfigImage[] {
  const parsed = parseAllDocuments(config.reveal(), { schema: 'core', uniqueKeys: false });
  const documents = 'empty' in parsed ? [] : parsed.map((document): unknown => document.toJS());
  const main = documents.find((document) => isRecord(document) && document['kind'] === undefined);
  const named = (kinds: readonly string[]): unknown[] =>
    documents.flatMap((document) =>
      isRecord(document) && kinds.includes(String(document['kind'])) ? [document['image']] : [],
    );
  const kubelet = [valueAt(main, 'machine.kubelet.image'), ...named(['KubeletConfig'])];
  const components = [...componentFields.map((field) => valueAt(main, field)), ...named(componentDocuments)];
  return [
    ...kubelet.flatMap((image) => toConfigImage(image, true)),
    ...(role === 'controlplane' ? components.flatMap((image) => toConfigImage(image, false)) : []),
  ];
}

function toConfigImage(image: unknown, isKubelet: boolean): ConfigImage[] {
  if (typeof image !== 'string') return [];
  const [, version = ''] = /:v(\d+\.\d+\.\d+)/.exec(image) ?? [];
  return [{ image, version, isKubelet }];
}

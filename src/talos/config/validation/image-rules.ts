import { checkVersions } from '../../versions.ts';
import { type ConfigDocument, isMainConfigDocument, valueAt } from '../config-document.ts';
import type { ConfigValidationContext } from './rule.ts';

/** A reference has 255 characters without its tag, 128 in it, and a digest (distribution: `reference/reference.go`). */
const maxReferenceLength = 512;

/** The programs with a version of Kubernetes: their section, and the kind of document that can replace it. */
const components = [
  { path: 'machine.kubelet', kind: 'KubeletConfig', onWorkers: true },
  { path: 'cluster.apiServer', kind: 'KubeAPIServerConfig', onWorkers: false },
  { path: 'cluster.controllerManager', kind: 'KubeControllerManagerConfig', onWorkers: false },
  { path: 'cluster.scheduler', kind: 'KubeSchedulerConfig', onWorkers: false },
  { path: 'cluster.proxy', kind: 'KubeProxyConfig', onWorkers: false },
];

/** The rules about images that determine the version of Kubernetes. */
export function findImageProblems(
  documents: readonly ConfigDocument[],
  main: ConfigDocument,
  { role, talosVersion, made }: ConfigValidationContext,
): string[] {
  const here = components.filter(({ onWorkers }) => onWorkers || role === 'controlplane');
  return here.flatMap(({ path, kind }) => {
    const document = documents.find((one) => one['kind'] === kind);
    const desired = kubernetesVersionTag(findImage(made ?? [], path, kind));
    if (!document) return checkImage(`${path}.image`, valueAt(main, `${path}.image`), talosVersion, desired);
    return document['enabled'] === false ? [] : checkImage(`${kind}.image`, document['image'], talosVersion, desired);
  });
}

/** The image that the configuration without patches has for a component. */
const findImage = (made: readonly ConfigDocument[], path: string, kind: string): unknown =>
  made.find((one) => one['kind'] === kind)?.['image'] ?? valueAt(made.find(isMainConfigDocument), `${path}.image`);

/** `desired` is the desired Kubernetes version of the Cluster, if known. */
function checkImage(path: string, value: unknown, talosVersion: string, desired: string | undefined): string[] {
  if (typeof value === 'string' && value.length > maxReferenceLength)
    return [`${path} is longer than ${maxReferenceLength} characters: use registry, repository and tag.`];
  const tag = kubernetesVersionTag(value);
  if (tag === undefined) return [`${path} needs a tag with the version, like :v1.35.4.`];
  const findings = checkVersions(talosVersion, [tag]);
  if (findings.length > 0 || desired === undefined || tag === desired)
    return findings.map((finding) => `${path}: ${finding.message}`);
  return [`${path} has Kubernetes ${tag}, but a Cluster can request ${desired}: remove it, or offer no other version.`];
}

/** A node reads the version of Kubernetes from the tag, also with a digest (`config/types/v1alpha1` of Talos). */
function kubernetesVersionTag(image: unknown): string | undefined {
  const [reference = ''] = String(image ?? '').split('@', 1);
  const tag = reference.slice(reference.lastIndexOf(':'));
  return /^:v\d+\.\d+\.\d+/.test(tag) ? tag.slice(2).replace(/-(fat|slim)$/, '') : undefined;
}

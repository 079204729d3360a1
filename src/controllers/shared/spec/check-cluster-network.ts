import { parseAllDocuments } from 'yaml';
import type { ProviderConfigSpec } from '../../../api/provider-config-spec.ts';
import type { Diagnostic } from '../../../engine/diagnostic.ts';
import { toUrl } from '../../../talos/config/schema/formats.ts';
import { invalidField } from './invalid-field.ts';

/** The CNI, KubeSpan and the manifests of a cluster, beyond their schema. */
export const checkClusterNetwork = (spec: ProviderConfigSpec): Diagnostic[] => [
  ...checkCni(spec),
  ...checkKubeSpan(spec),
  ...checkRegion(spec),
  ...spec.kubernetes.extraManifests.flatMap((url, i) => checkUrl(url, `kubernetes.extraManifests[${i}]`)),
  ...spec.kubernetes.inlineManifests.flatMap(({ contents }, i) => checkContents(contents, i)),
];

/** The API server rejects the first problem too. This check covers files. */
function checkCni({ network: { cni } }: ProviderConfigSpec): Diagnostic[] {
  if ((cni.name === 'Custom') !== cni.urls.length > 0)
    return [
      invalidField('network.cni.urls', 'It is required with network.cni.name Custom, and must be omitted otherwise.'),
    ];
  return cni.urls.flatMap((url, i) => checkUrl(url, `network.cni.urls[${i}]`));
}

function checkKubeSpan({ network, talos }: ProviderConfigSpec): Diagnostic[] {
  if (!network.kubeSpan.enabled || talos.discovery.enabled) return [];
  const message = 'KubeSpan finds the nodes by the discovery service: set talos.discovery.enabled, or omit it.';
  return [invalidField('network.kubeSpan.enabled', message)];
}

/** The API server rejects this too. This check covers files. */
const checkRegion = ({ network, kubernetes }: ProviderConfigSpec): Diagnostic[] =>
  kubernetes.externalCloudProvider.enabled && network.region !== undefined
    ? [invalidField('network.region', 'The cloud controller manager sets the region: omit it.')]
    : [];

const checkUrl = (text: string, field: string): Diagnostic[] =>
  toUrl(text) ? [] : [invalidField(field, 'It is no URL. Use one like https://example.org/manifest.yaml.')];

/** Talos creates the other objects of a cluster without the one that it cannot read, and says so in its log only. */
function checkContents(contents: string, i: number): Diagnostic[] {
  const field = `kubernetes.inlineManifests[${i}].contents`;
  const parsed = parseAllDocuments(contents);
  const documents = 'empty' in parsed ? [] : parsed;
  const broken = documents.flatMap(({ errors }) => errors)[0];
  // Only its first line: the rest quotes the manifest.
  if (broken) return [invalidField(field, `It is no YAML: ${broken.message.split('\n')[0]}`)];
  const objects = documents.map((document): unknown => document.toJS({ maxAliasCount: 100 })).filter(isPresent);
  if (objects.length === 0) return [invalidField(field, 'It has no object. Add one, or remove the manifest.')];
  const wrong = objects.findIndex((object) => !isKubernetesObject(object));
  if (wrong < 0) return [];
  return [invalidField(field, `Its object ${wrong + 1} needs apiVersion, kind and metadata.name.`)];
}

const isPresent = (value: unknown): boolean => value !== null && value !== undefined;

function isKubernetesObject(value: unknown): boolean {
  const { apiVersion, kind, metadata } = Object(value) as Record<string, unknown>;
  const { name } = Object(metadata) as Record<string, unknown>;
  return [apiVersion, kind, name].every((text) => typeof text === 'string' && text !== '');
}

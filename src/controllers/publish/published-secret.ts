import { stringify } from 'yaml';
import { clusterIdentityAnnotations, isSameCluster, readClusterIdentity } from '../../api/cluster-identity.ts';
import { annotations, fleetName, labels } from '../../api/names.ts';
import type { Secret } from '../../kube/core-types.ts';
import type { KubeObject } from '../../kube/resource.ts';
import { shortHash } from '../../lib/hash.ts';
import type { SecretString } from '../../lib/secret-string.ts';
import { formatTime } from '../../lib/text.ts';
import { toBase64 } from '../../talos/secrets/pem.ts';
import { findTokenRenewalDueAt, fingerprintInputs, type KubeconfigInputs } from '../access-request/access-secret.ts';
import { readAuthorityOf, renderTokenKubeconfig } from '../access-request/kubeconfig.ts';
import { type SigningKeyIds, signingKeyIdOf } from '../access-request/target-cluster/signing-key-cache.ts';
import { type Publication, type PublicationForm, publishedSecretName } from './publication.ts';

/** A token for the account of a publication. */
export interface PublishedToken {
  readonly token: SecretString;
  readonly created: Date;
  readonly expires: Date;
}

/** The labels by which consumers find their Secrets. */
const consumerLabels: Readonly<Record<PublicationForm, Readonly<Record<string, string>>>> = {
  kubeconfigSecret: { 'sigs.k8s.io/multicluster-runtime-kubeconfig': 'true' },
  clusterProfile: {},
  argoCD: { 'argocd.argoproj.io/secret-type': 'cluster' },
};

/** The labels and annotations of a published object. */
export function describeMarks(
  { form, id, cluster, labels: chosen }: Publication,
  provider: string,
): { readonly labels: Record<string, string>; readonly annotations: Record<string, string> } {
  return {
    labels: {
      ...chosen,
      ...consumerLabels[form],
      [labels.provider]: provider,
      [labels.access]: id,
      [labels.published]: form,
    },
    annotations: clusterIdentityAnnotations(cluster),
  };
}

/**
 * Whose an object is that has the name of a published one. `former`: of an earlier Cluster of the same name, whose finalizer
 * was removed by hand.
 */
export function classifyPublished(
  { metadata }: KubeObject,
  { cluster, form }: Pick<Publication, 'cluster' | 'form'>,
  provider: string,
): 'own' | 'former' | 'other' {
  const isMarked = metadata.labels?.[labels.provider] === provider && metadata.labels[labels.published] === form;
  const owner = readClusterIdentity(metadata);
  if (!isMarked || owner?.namespace !== cluster.namespace || owner.name !== cluster.name) return 'other';
  return isSameCluster(owner, cluster) ? 'own' : 'former';
}

/** The complete Secret. Its data depend on the token and the address of the API server alone. */
export function describePublishedSecret(
  publication: Publication,
  provider: string,
  inputs: KubeconfigInputs,
  { token, created, expires }: PublishedToken,
): Secret {
  const data = renderData(publication, provider, inputs, token);
  const marks = describeMarks(publication, provider);
  const signingKey = signingKeyIdOf(token);
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: publishedSecretName(publication.form, publication.cluster),
      namespace: publication.namespace,
      labels: marks.labels,
      annotations: {
        ...marks.annotations,
        [annotations.server]: fingerprintInputs(inputs),
        ...(signingKey === undefined ? {} : { [annotations.signingKey]: signingKey }),
        [annotations.tokenCreated]: formatTime(created),
        [annotations.tokenExpires]: formatTime(expires),
        [annotations.content]: hashData(data),
      },
    },
    type: 'Opaque',
    data,
  };
}

function renderData(
  { form, cluster }: Publication,
  provider: string,
  { server }: KubeconfigInputs,
  token: SecretString,
): Record<string, string> {
  if (form !== 'argoCD') return { kubeconfig: toBase64(renderTokenKubeconfig(server, provider, token).reveal()) };
  const config = { bearerToken: token.reveal(), tlsClientConfig: { caData: toBase64(server.ca) } };
  return {
    name: toBase64(fleetName(cluster)),
    server: toBase64(server.url),
    config: toBase64(JSON.stringify(config)),
  };
}

/** Others may add keys: only ours count. */
const dataKeys: Readonly<Record<PublicationForm, readonly string[]>> = {
  kubeconfigSecret: ['kubeconfig'],
  clusterProfile: ['kubeconfig'],
  argoCD: ['config', 'name', 'server'],
};

const hashData = (data: Readonly<Record<string, string>>): string =>
  shortHash(stringify(Object.entries(data).sort(([a], [b]) => (a < b ? -1 : 1))));

const hasOwnData = ({ data = {}, metadata }: Secret, form: PublicationForm): boolean => {
  const own = dataKeys[form].flatMap((key) => (data[key] === undefined ? [] : [[key, data[key]] as const]));
  return metadata.annotations?.[annotations.content] === hashData(Object.fromEntries(own));
};

/** When the token of a Secret is to be renewed; undefined if the Secret is of no use, or others have changed it. */
export function findPublishedRenewal(
  secret: Secret,
  form: PublicationForm,
  inputs: KubeconfigInputs,
  keys: SigningKeyIds,
  now: Date,
): Date | undefined {
  if (!hasOwnData(secret, form)) return undefined;
  const { annotations: notes = {} } = secret.metadata;
  const timeOf = (key: string): Date | undefined => {
    const time = new Date(notes[key] ?? '');
    return Number.isNaN(time.getTime()) ? undefined : time;
  };
  const created = timeOf(annotations.tokenCreated);
  const expires = timeOf(annotations.tokenExpires);
  return findTokenRenewalDueAt({ created, expires, annotations: notes }, inputs, keys, now);
}

/** Whether others have removed or changed labels or annotations of ours. */
export function hasMarks({ metadata }: KubeObject, publication: Publication, provider: string): boolean {
  const wanted = describeMarks(publication, provider);
  const includes = (present: Record<string, string> = {}, own: Record<string, string>): boolean =>
    Object.entries(own).every(([key, value]) => present[key] === value);
  return includes(metadata.labels, wanted.labels) && includes(metadata.annotations, wanted.annotations);
}

/** The Base64 of the certificates that the consumers of a published Secret trust. */
export function readTrustedCertificates({ data = {} }: Secret): string | undefined {
  const text = (key: string): string => Buffer.from(data[key] ?? '', 'base64').toString('utf8');
  if (data['config'] === undefined) return readAuthorityOf(text('kubeconfig'));
  return /"caData":"([^"]+)"/.exec(text('config'))?.[1];
}

import { createPrivateKey, createPublicKey } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { issueKubeApiServerCertificate } from '../certificates/node-certificates.ts';
import { clientAuth, decodePem, issueLeaf, type LeafOptions, openAuthority } from '../certificates/pki.ts';
import type { CertificateKeyPair, ConfigView, KubernetesView } from '../config/config-view.ts';
import type { TalosNode } from '../node.ts';

/**
 * Writes the files that are mounted into the static pod of kube-apiserver (talos:
 * controllers/k8s/render_secrets_static_pod.go and render_config_static_pods.go), all in one folder. Throws when a key
 * or a certificate of the configuration is invalid.
 */
export async function writeApiServerFiles(node: TalosNode, folder: string): Promise<void> {
  const view = node.config?.view;
  if (!view) throw new Error('there is no configuration');
  await mkdir(folder, { recursive: true });
  const files = { ...(await secretFiles(node, view)), ...configFiles(view.kubernetes) };
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text, { mode: 0o600 });
  for (const [path, text] of Object.entries(node.files)) {
    const place = join(folder, 'mounts', path);
    await mkdir(dirname(place), { recursive: true });
    await writeFile(place, text);
  }
}

async function secretFiles(node: TalosNode, { kubernetes }: ConfigView): Promise<Record<string, string>> {
  const serving = await issueKubeApiServerCertificate(node);
  const kubelet = await clientCertificate(kubernetes.ca, {
    commonName: 'apiserver-kubelet-client',
    organizations: ['system:masters'],
  });
  const frontProxy = await clientCertificate(kubernetes.aggregatorCa, { commonName: 'front-proxy-client' });
  const account = createPrivateKey(decodePem(kubernetes.serviceAccount.key));
  const ca = decodePem(kubernetes.ca.crt);
  return {
    'ca.crt': [ca, ...kubernetes.acceptedCas.map(decodePem)].join('\n'),
    // With its CA appended, for clients that trust a CA above.
    'apiserver.crt': `${serving.cert}\n${ca}`,
    'apiserver.key': serving.key,
    'apiserver-kubelet-client.crt': kubelet.cert,
    'apiserver-kubelet-client.key': kubelet.key,
    'aggregator-ca.crt': decodePem(kubernetes.aggregatorCa.crt),
    'front-proxy-client.crt': frontProxy.cert,
    'front-proxy-client.key': frontProxy.key,
    'service-account.key': account.export({ format: 'pem', type: 'pkcs8' }).toString(),
    'service-account.pub': createPublicKey(account).export({ format: 'pem', type: 'spki' }).toString(),
    'encryptionconfig.yaml': asYaml(encryption(kubernetes.encryption)),
  };
}

async function clientCertificate(
  { crt, key }: CertificateKeyPair,
  who: Pick<LeafOptions, 'commonName' | 'organizations'>,
) {
  return await issueLeaf(await openAuthority(crt, key), { ...who, usages: [clientAuth], hours: 8760 });
}

function configFiles(kubernetes: KubernetesView): Record<string, string> {
  const { authentication } = kubernetes;
  const version = 'apiserver.config.k8s.io/v1';
  return {
    'admission-control-config.yaml': asYaml({
      apiVersion: version,
      kind: 'AdmissionConfiguration',
      plugins: kubernetes.admission,
    }),
    'auditpolicy.yaml': asYaml(isEmpty(kubernetes.auditPolicy) ? defaultAuditPolicy : kubernetes.auditPolicy),
    'authorization-config.yaml': asYaml({
      apiVersion: version,
      kind: 'AuthorizationConfiguration',
      authorizers: kubernetes.authorizers.map(({ name, type, webhook }) => ({
        type,
        name,
        ...(webhook === undefined ? {} : { webhook }),
      })),
    }),
    'authentication-config.yaml': asYaml(
      authentication && !isEmpty(authentication)
        ? {
            ...authentication,
            apiVersion: 'apiserver.config.k8s.io/v1beta1',
            kind: 'AuthenticationConfiguration',
          }
        : {},
    ),
  };
}

/** The defaults of the v1alpha1 form (talos: config/types/v1alpha1/v1alpha1_apiserverconfig.go). */
const defaultAuditPolicy = { apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules: [{ level: 'Metadata' }] };

const isEmpty = (fields: object): boolean => Object.keys(fields).length === 0;

/** Keys by their names on every Talos (talos: controllers/k8s/internal/k8stemplates/apiserver.go). */
function encryption({ secretbox, aescbc, config }: KubernetesView['encryption']): object {
  if (config) return config;
  const keys = (name: string, secret: string): object => ({ keys: [{ name, secret }] });
  return {
    apiVersion: 'v1',
    kind: 'EncryptionConfig',
    resources: [
      {
        resources: ['secrets'],
        providers: [
          ...(secretbox === '' ? [] : [{ secretbox: keys('key2', secretbox) }]),
          ...(aescbc === '' ? [] : [{ aescbc: keys('key1', aescbc) }]),
          { identity: {} },
        ],
      },
    ],
  };
}

/** JSON is YAML. */
const asYaml = (value: object): string => `${JSON.stringify(value, undefined, 2)}\n`;

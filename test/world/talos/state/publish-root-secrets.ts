import { decodePem } from '../certificates/pki.ts';
import type { CertificateKeyPair } from '../config/config-view.ts';
import type { TalosNode } from '../node.ts';

/** The authorities of the active configuration (talos: controllers/secrets/root.go); their other fields are left out. */
export function publishRootSecrets({ resources, config, isControlPlane }: TalosNode): void {
  if (!config) return;
  const { osCa, acceptedCas: osOthers, kubernetes } = config.view;
  resources.put('secrets', 'OSRootSecrets.secrets.talos.dev', 'os', authoritiesOf(osCa, osOthers));
  if (!isControlPlane) return;
  const spec = authoritiesOf(kubernetes.ca, kubernetes.acceptedCas);
  resources.put('secrets', 'KubernetesRootSecrets.secrets.talos.dev', 'k8s', spec);
}

/** A worker issues nothing: its configuration has the certificate without the key. */
function authoritiesOf({ crt, key }: CertificateKeyPair, others: readonly string[]) {
  const base64 = (text: string): string => Buffer.from(decodePem(text)).toString('base64');
  return {
    issuingCA: key === '' ? null : { crt: base64(crt), key: base64(key) },
    acceptedCAs: [...others, crt].filter((one) => one !== '').map((one) => ({ crt: base64(one) })),
  };
}

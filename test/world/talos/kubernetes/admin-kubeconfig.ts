import { stringify } from 'yaml';
import { clientAuth, issueLeaf, openAuthority } from '../certificates/pki.ts';
import type { TalosNode } from '../node.ts';

/** The administrator's kubeconfig (talos: pkg/kubeconfig). It is issued whether Kubernetes answers or not. */
export async function adminKubeconfig(node: TalosNode): Promise<string> {
  const view = node.config?.view;
  if (!view) throw new Error('there is no configuration');
  const authority = await openAuthority(view.kubernetes.ca.crt, view.kubernetes.ca.key);
  const leaf = await issueLeaf(authority, {
    commonName: 'admin',
    organizations: ['system:masters'],
    usages: [clientAuth],
    hours: 8760,
  });
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  const name = `admin@${view.clusterName}`;
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name: view.clusterName,
        cluster: { server: view.endpoint, 'certificate-authority-data': base64(authority.pem) },
      },
    ],
    users: [{ name, user: { 'client-certificate-data': base64(leaf.cert), 'client-key-data': base64(leaf.key) } }],
    contexts: [{ name, context: { cluster: view.clusterName, namespace: 'default', user: name } }],
    'current-context': name,
  });
}

import { endpointHost } from '../kubernetes/etcd.ts';
import { nthAddress } from '../network/links.ts';
import { requestCertificate } from '../network/trustd.ts';
import type { TalosNode } from '../node.ts';
import { createSelfSignedAuthority, issueLeaf, type LeafCertificate, openAuthority, serverAuth } from './pki.ts';

/** The certificate of the maintenance service: an unknown CA, and a fixed name (since Talos 1.13). */
export async function issueMaintenanceCertificate(node: TalosNode): Promise<LeafCertificate> {
  const authority = await createSelfSignedAuthority('O=talos');
  return issueLeaf(authority, {
    commonName: 'maintenance-service.talos.dev',
    usages: [serverAuth],
    names: [node.hostname, 'localhost', 'maintenance-service.talos.dev'].filter((name) => name !== ''),
    addresses: [...node.addresses, '127.0.0.1'],
    hours: 24,
  });
}

/**
 * The serving certificate of a configured node: from its own CA, or for a worker from a control plane. It never
 * contains the cluster endpoint.
 */
export async function issueApiCertificate(node: TalosNode): Promise<LeafCertificate> {
  const view = node.config?.view;
  if (!view) throw new Error('there is no configuration');
  const names = [node.hostname, node.nodename, 'localhost', ...view.certSans.filter((san) => !isAddress(san))];
  const addresses = [
    ...node.addresses,
    '127.0.0.1',
    ...view.certSans.filter(isAddress),
    ...(view.vip ? [view.vip] : []),
  ];
  if (!node.isControlPlane)
    return requestCertificate(
      node,
      names.filter((name) => name !== ''),
      addresses,
    );
  const authority = await openAuthority(view.osCa.crt, view.osCa.key);
  return issueLeaf(authority, {
    commonName: node.hostname,
    usages: [serverAuth],
    names: names.filter((name) => name !== ''),
    addresses,
    hours: 24,
  });
}

/** The serving certificate of kube-apiserver (talos: controllers/secrets/kubernetes_dynamic_certs.go). */
export async function issueKubeApiServerCertificate(node: TalosNode): Promise<LeafCertificate> {
  const view = node.config?.view;
  if (!view) throw new Error('there is no configuration');
  const { kubernetes } = view;
  const authority = await openAuthority(kubernetes.ca.crt, kubernetes.ca.key);
  const all = [endpointHost(view.endpoint), ...kubernetes.apiServerSans].filter((san) => san !== '');
  const services = [
    'kubernetes',
    'kubernetes.default',
    'kubernetes.default.svc',
    `kubernetes.default.svc.${kubernetes.dnsDomain}`,
  ];
  return issueLeaf(authority, {
    commonName: 'kube-apiserver',
    organizations: ['kube-master'],
    usages: [serverAuth],
    names: [...all.filter((san) => !isAddress(san)), ...services, 'localhost', node.nodename, node.hostname],
    addresses: [
      ...all.filter(isAddress),
      ...kubernetes.serviceSubnets.map((subnet) => nthAddress(subnet, 1)),
      ...node.addresses,
      ...(view.vip ? [view.vip] : []),
      '127.0.0.1',
    ],
    hours: 8760,
  });
}

const isAddress = (san: string): boolean => /^\d+(?:\.\d+){3}$/.test(san) || san.includes(':');

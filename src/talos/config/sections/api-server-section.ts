import { isAtLeastMinor } from '../../versions.ts';
import type { ConfigDocument } from '../config-document.ts';
import type { MachineConfigInput } from '../machine-config-input.ts';
import { issuerCaFolder, issuerCaPath, toJwtAuthenticators, toOidcArguments } from '../oidc/oidc-trust.ts';
import { componentImage } from './component-images.ts';

/**
 * From Talos 1.14 on separate documents configure kube-apiserver, because only they support several issuers, and
 * changes without a reboot.
 */
export const usesApiServerDocuments = (talosVersion: string): boolean => isAtLeastMinor(talosVersion, '1.14');

/** `cluster.apiServer` of the main document; empty when documents configure the API server. */
export function buildApiServerSection(input: MachineConfigInput): ConfigDocument {
  if (usesApiServerDocuments(input.talosVersion)) return {};
  const { apiServerCertSANs, issuerAuthorities, trust } = input;
  const extraArgs = toOidcArguments(trust[0]);
  const section = {
    image: componentImage('apiServer', input),
    ...(Object.keys(extraArgs).length > 0 ? { extraArgs } : {}),
    ...(issuerAuthorities.length > 0
      ? { extraVolumes: [{ hostPath: issuerCaFolder, mountPath: issuerCaFolder, readonly: true }] }
      : {}),
    ...(apiServerCertSANs.length > 0 ? { certSANs: [...apiServerCertSANs] } : {}),
    admissionControl: [{ name: 'PodSecurity', configuration: podSecurityConfiguration }],
    auditPolicy,
  };
  return { apiServer: section };
}

/**
 * The authorities of issuers as files of the node. The node creates files at boot, so they must exist from the
 * beginning.
 */
export function buildIssuerCaFiles({ issuerAuthorities, role, talosVersion }: MachineConfigInput): ConfigDocument {
  if (role !== 'controlplane' || usesApiServerDocuments(talosVersion) || issuerAuthorities.length === 0) return {};
  const files = issuerAuthorities.map((ca) => ({
    path: issuerCaPath(ca),
    op: 'create',
    // kube-apiserver runs as nobody.
    permissions: 0o644,
    content: ca,
  }));
  return { files };
}

/** The same as documents, which have no defaults: every needed value must be set. */
export function buildApiServerDocuments(input: MachineConfigInput): ConfigDocument[] {
  if (input.role !== 'controlplane' || !usesApiServerDocuments(input.talosVersion)) return [];
  const document = (kind: string, fields: ConfigDocument): ConfigDocument => ({
    apiVersion: 'v1alpha1',
    kind,
    ...fields,
  });
  return [
    document('KubeAPIServerConfig', {
      image: componentImage('apiServer', input),
      ...(input.apiServerCertSANs.length > 0 ? { certExtraSANs: [...input.apiServerCertSANs] } : {}),
    }),
    document('KubeAuthenticationConfig', {
      configuration: { anonymous: anonymousProbes, jwt: toJwtAuthenticators(input.trust) },
    }),
    document('KubeAuthorizerConfig', { name: 'node', type: 'Node' }),
    document('KubeAuthorizerConfig', { name: 'rbac', type: 'RBAC' }),
    document('KubeAdmissionControlConfig', { name: 'PodSecurity', configuration: podSecurityConfiguration }),
    document('KubeAuditPolicyConfig', { configuration: auditPolicy }),
  ];
}

/** Kubelets send health requests without authentication. */
const anonymousProbes = {
  enabled: true,
  conditions: [{ path: '/livez' }, { path: '/readyz' }, { path: '/healthz' }],
};

/**
 * The defaults of Talos' own generator: Pods are restricted to the `baseline` standard, and every request is audited.
 */
const podSecurityConfiguration = {
  apiVersion: 'pod-security.admission.config.k8s.io/v1alpha1',
  kind: 'PodSecurityConfiguration',
  defaults: {
    enforce: 'baseline',
    'enforce-version': 'latest',
    audit: 'restricted',
    'audit-version': 'latest',
    warn: 'restricted',
    'warn-version': 'latest',
  },
  exemptions: { namespaces: ['kube-system'], runtimeClasses: [], usernames: [] },
};
const auditPolicy = { apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules: [{ level: 'Metadata' }] };

import { parse } from 'yaml';
import type { NamespacedRef, OidcAccess } from '../../../../src/api/openmcp/types.ts';
import { KubeClient } from '../../../../src/kube/client/client.ts';
import { createApiServerConnection } from '../../../../src/kube/transport/api-server-connection.ts';
import { Transport } from '../../../../src/kube/transport/transport.ts';
import { SecretString } from '../../../../src/lib/secret-string.ts';
import { type Testbed, userAgents } from '../testbed/testbed.ts';
import { accessResult, grantedKubeconfig } from './workload-cluster.ts';

/** The content of a granted kubeconfig for logins. */
export interface OidcKubeconfig {
  readonly server: string;
  readonly ca: string;
  /** The whole of it, as YAML. */
  readonly text: string;
  readonly exec: { readonly command: string; readonly args: readonly string[] };
}

export async function readOidcKubeconfig(testbed: Testbed, request: NamespacedRef): Promise<OidcKubeconfig> {
  const text = await grantedKubeconfig(testbed, request);
  const { clusters, users } = parse(text);
  const { server, 'certificate-authority-data': ca } = clusters[0].cluster;
  return { server, ca: Buffer.from(ca, 'base64').toString('utf8'), text, exec: users[0].user.exec };
}

/** A client with a token in place of the plug-in's login. The caller closes it. */
export function clientWithToken({ server, ca }: Pick<OidcKubeconfig, 'server' | 'ca'>, token: string): KubeClient {
  const connection = createApiServerConnection({ server, ca, token: new SecretString(token) });
  return new KubeClient(new Transport(connection, { userAgent: userAgents.test }), {
    fieldManager: 'e2e-test',
    deadlineSeconds: 10,
  });
}

/** The cluster's answer to a call with this token. */
export async function accessWithToken(
  login: Pick<OidcKubeconfig, 'server' | 'ca'>,
  token: string,
  ask: (client: KubeClient) => Promise<unknown>,
): Promise<'allowed' | number> {
  const client = clientWithToken(login, token);
  try {
    return await accessResult(ask(client));
  } finally {
    await client.close();
  }
}

/** The identity that the cluster assigns to the holder of a token. */
export async function userInfoOf(
  login: Pick<OidcKubeconfig, 'server' | 'ca'>,
  token: string,
): Promise<{ username: string; groups: string[] }> {
  const client = clientWithToken(login, token);
  try {
    const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
    const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
    const { status } = await client.raw<{ status: { userInfo: { username: string; groups: string[] } } }>(
      'POST',
      path,
      review,
    );
    const { username, groups } = status.userInfo;
    return { username, groups: [...groups].sort() };
  } finally {
    await client.close();
  }
}

/** An OIDC section that gives users of an issuer read access to one kind of object. */
export const oidcAccess = (issuer: string, changes: Partial<OidcAccess> = {}): OidcAccess => ({
  name: 'corp',
  issuer,
  clientID: 'kubernetes',
  roleBindings: [
    {
      subjects: [
        { kind: 'User', name: 'alice' },
        { kind: 'Group', name: 'readers' },
      ],
      roleRefs: [{ kind: 'ClusterRole', name: 'look-at-maps' }],
    },
  ],
  roles: [{ name: 'look-at-maps', rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list'] }] }],
  ...changes,
});

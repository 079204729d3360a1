import { parse } from 'yaml';
import type { NamespacedRef, OidcAccess } from '../../../src/api/openmcp.ts';
import { KubeClient } from '../../../src/kube/client.ts';
import { connectionTo } from '../../../src/kube/connection.ts';
import { Transport } from '../../../src/kube/transport.ts';
import { Secret } from '../../../src/lib/secret.ts';
import { agents, type Stage } from './stage.ts';
import { answerTo, grantedKubeconfig } from './workload.ts';

/** What a granted kubeconfig for logins says. */
export interface Login {
  readonly server: string;
  readonly ca: string;
  /** The whole of it, as YAML. */
  readonly text: string;
  readonly exec: { readonly command: string; readonly args: readonly string[] };
}

export async function loginOf(stage: Stage, request: NamespacedRef): Promise<Login> {
  const text = await grantedKubeconfig(stage, request);
  const { clusters, users } = parse(text);
  const { server, 'certificate-authority-data': ca } = clusters[0].cluster;
  return { server, ca: Buffer.from(ca, 'base64').toString('utf8'), text, exec: users[0].user.exec };
}

/** A client that has a token where the plug-in would have asked somebody to log in. The caller closes it. */
export function logIn({ server, ca }: Pick<Login, 'server' | 'ca'>, token: string): KubeClient {
  const connection = connectionTo({ server, ca, token: new Secret(token) });
  return new KubeClient(new Transport(connection, { userAgent: agents.test }), {
    fieldManager: 'e2e-test',
    deadlineSeconds: 10,
  });
}

/** What the cluster answers to one who comes with this token. */
export async function answerToToken(
  login: Pick<Login, 'server' | 'ca'>,
  token: string,
  ask: (client: KubeClient) => Promise<unknown>,
): Promise<'allowed' | number> {
  const client = logIn(login, token);
  try {
    return await answerTo(ask(client));
  } finally {
    await client.close();
  }
}

/** Who the cluster takes the holder of a token for. */
export async function whoAmI(
  login: Pick<Login, 'server' | 'ca'>,
  token: string,
): Promise<{ username: string; groups: string[] }> {
  const client = logIn(login, token);
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

/** An OIDC section with which users of an issuer may look at one kind of object. */
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

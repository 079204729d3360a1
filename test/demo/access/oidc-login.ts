import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { AccessRequest, openmcpPhases } from '../../../src/api/openmcp/types.ts';
import { Secret } from '../../../src/kube/core-types.ts';
import { isForbidden } from '../../../src/kube/errors.ts';
import { apiVersionOf, type KubeObject, objectKeyOf } from '../../../src/kube/resource.ts';
import { waitWithProgress } from '../actions.ts';
import { ClusterSession } from '../cluster-session.ts';
import type { DemoContext } from '../demo-context.ts';
import { demoFolder } from '../folder.ts';
import { DemoFailed } from '../wait-for-result.ts';
import { ConfigMap, sampleNamespace } from './granted-access.ts';

const clientID = 'first-app';

/** Grants the users of the simulated OIDC issuer access to the cluster of a token request, and logs one of them in. */
export async function demonstrateOidcLogin(testbed: DemoContext, tokenRequest: KubeObject): Promise<KubeObject> {
  const { session, world, screen } = testbed;
  screen.chapter('The same cluster for people: a login by OIDC');
  const { clusterRef } = (tokenRequest as AccessRequest).spec;
  const request: AccessRequest = {
    apiVersion: apiVersionOf(AccessRequest),
    kind: AccessRequest.kind,
    metadata: { namespace: tokenRequest.metadata.namespace ?? '', name: 'first-people' },
    spec: {
      ...(clusterRef ? { clusterRef } : {}),
      oidc: {
        name: 'corporate',
        issuer: world.oidc.issuer,
        clientID,
        roleBindings: [
          { subjects: [{ kind: 'Group', name: 'developers' }], roleRefs: [{ kind: 'ClusterRole', name: 'view' }] },
        ],
      },
    },
  };
  await session.apply([request]);
  await waitWithProgress(testbed, 'The trust of every control plane, one after the other', 120, async () => {
    const { status } = await session.client.get(AccessRequest, objectKeyOf(request));
    return status?.phase === openmcpPhases.granted || undefined;
  });
  const kubeconfig = await readGrantedKubeconfig(session, request);
  await writeFile(join(demoFolder, 'login.kubeconfig'), kubeconfig, { mode: 0o600 });
  const { exec } = parse(kubeconfig).users[0].user;
  screen.step(`the kubeconfig holds nothing secret, it asks: kubectl ${exec.args.slice(0, 2).join(' ')} …`);
  await useAsAlice(testbed, kubeconfig);
  return request;
}

async function readGrantedKubeconfig(session: ClusterSession, request: AccessRequest): Promise<string> {
  const { status } = await session.client.get(AccessRequest, objectKeyOf(request));
  const { namespace: inside = '' } = request.metadata;
  const secret = await session.client.get(Secret, { namespace: inside, name: status?.secretRef?.name ?? '' });
  return Buffer.from(secret.data?.['kubeconfig'] ?? '', 'base64').toString('utf8');
}

/** Alice has logged in: her kubeconfig contains the token that the plug-in would have fetched. */
async function useAsAlice({ world, screen }: DemoContext, kubeconfig: string): Promise<void> {
  const token = world.oidc.issue({ subject: 'alice', groups: ['developers'], audience: clientID });
  const config = parse(kubeconfig);
  config.users[0].user = { token };
  const alice = new ClusterSession(stringify(config));
  try {
    const { username, groups } = await alice.client.reviewSelf();
    const named = groups.filter((group) => !group.startsWith('system:'));
    screen.step(`the cluster knows her who has logged in as ${username} of ${named.join(', ')}`);
    const { items } = await alice.client.list(ConfigMap, { namespace: sampleNamespace });
    screen.step(`allowed: she sees ${items.map(({ metadata }) => metadata.name).join(', ')} in ${sampleNamespace}`);
    screen.step(`refused: ${await expectForbidden(alice)}`);
  } finally {
    await alice.close();
  }
}

async function expectForbidden(session: ClusterSession): Promise<string> {
  try {
    await session.client.remove(ConfigMap, { namespace: sampleNamespace, name: 'greeting' });
  } catch (error) {
    if (isForbidden(error)) return (error as Error).message;
    throw error;
  }
  throw new DemoFailed('Who may view may delete as well: that was not asked for.');
}

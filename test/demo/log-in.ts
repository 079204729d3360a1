import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { AccessRequest, phases } from '../../src/api/openmcp.ts';
import { Secret } from '../../src/kube/core-types.ts';
import { isForbidden } from '../../src/kube/errors.ts';
import { apiVersionOf, type KubeObject, keyOf } from '../../src/kube/resource.ts';
import { watch } from './acts.ts';
import { folder } from './folder.ts';
import { Session } from './session.ts';
import type { Stage } from './stage.ts';
import { ConfigMap, namespace } from './use-access.ts';
import { DemoFailed } from './wait.ts';

const clientID = 'first-app';

/** The users of the world's OIDC issuer are let into the cluster of a token request, and one of them comes. */
export async function logIn(stage: Stage, tokenRequest: KubeObject): Promise<KubeObject> {
  const { session, world, screen } = stage;
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
  await watch(stage, 'The trust of every control plane, one after the other', 120, async () => {
    const { status } = await session.client.get(AccessRequest, keyOf(request));
    return status?.phase === phases.granted || undefined;
  });
  const kubeconfig = await readGranted(session, request);
  await writeFile(join(folder, 'login.kubeconfig'), kubeconfig, { mode: 0o600 });
  const { exec } = parse(kubeconfig).users[0].user;
  screen.step(`the kubeconfig holds nothing secret, it asks: kubectl ${exec.args.slice(0, 2).join(' ')} …`);
  await come(stage, kubeconfig);
  return request;
}

async function readGranted(session: Session, request: AccessRequest): Promise<string> {
  const { status } = await session.client.get(AccessRequest, keyOf(request));
  const { namespace: inside = '' } = request.metadata;
  const secret = await session.client.get(Secret, { namespace: inside, name: status?.secretRef?.name ?? '' });
  return Buffer.from(secret.data?.['kubeconfig'] ?? '', 'base64').toString('utf8');
}

/** Alice has logged in: what the plug-in would have brought stands in her kubeconfig. */
async function come({ world, screen }: Stage, kubeconfig: string): Promise<void> {
  const token = world.oidc.issue({ subject: 'alice', groups: ['developers'], audience: clientID });
  const config = parse(kubeconfig);
  config.users[0].user = { token };
  const alice = new Session(stringify(config));
  try {
    const { username, groups } = await alice.client.reviewSelf();
    const named = groups.filter((group) => !group.startsWith('system:'));
    screen.step(`the cluster knows her who has logged in as ${username} of ${named.join(', ')}`);
    const { items } = await alice.client.list(ConfigMap, { namespace });
    screen.step(`allowed: she sees ${items.map(({ metadata }) => metadata.name).join(', ')} in ${namespace}`);
    screen.step(`refused: ${await refusal(alice)}`);
  } finally {
    await alice.close();
  }
}

async function refusal(session: Session): Promise<string> {
  try {
    await session.client.remove(ConfigMap, { namespace, name: 'greeting' });
  } catch (error) {
    if (isForbidden(error)) return (error as Error).message;
    throw error;
  }
  throw new DemoFailed('Who may view may delete as well: that was not asked for.');
}

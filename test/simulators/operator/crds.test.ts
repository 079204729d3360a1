import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openmcpGroup } from '../../../src/api/names.ts';
import { installCrds } from '../../../src/commands/install/install-crds.ts';
import { KubeClient } from '../../../src/kube/client/client.ts';
import type { CustomResourceDefinition } from '../../../src/kube/core-types.ts';
import { KubeError } from '../../../src/kube/errors.ts';
import type { KubeObject } from '../../../src/kube/resource.ts';
import { loadApiServerConnection } from '../../../src/kube/transport/api-server-connection.ts';
import { Transport } from '../../../src/kube/transport/transport.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { noLog } from '../../../src/lib/log.ts';
import { celRulesOf } from '../../kube/support/own-crds.ts';
import { missingForRealKube, startRealKube } from '../../peers/kube-apiserver.ts';
import { missingUpstreamCrds, upstreamCrds } from '../../peers/openmcp-operator.ts';
import { type CrdExample, crdExamples } from '../../world/operator/crd-examples.ts';
import { openmcpCrds } from '../../world/operator/crds.ts';
import { startTestPlatformCluster } from '../../world/operator/platform-cluster-fixture.ts';

interface Server {
  readonly kubeconfig: string;
  close(): Promise<void>;
}

async function startReal(): Promise<Server> {
  const { kubeconfigPath: kubeconfig, close } = await startRealKube();
  return { kubeconfig, close };
}

const referenceCrds = (): CustomResourceDefinition[] => upstreamCrds(openmcpGroup);
const noReal = missingForRealKube();
const noReference = missingUpstreamCrds();

describe.each([
  {
    crds: 'our CRDs',
    server: 'world/kube',
    missing: undefined,
    start: startTestPlatformCluster,
    read: () => openmcpCrds,
  },
  { crds: 'our CRDs', server: 'kube-apiserver', missing: noReal, start: startReal, read: () => openmcpCrds },
  {
    crds: "the operator's CRDs",
    server: 'world/kube',
    missing: noReference,
    start: startTestPlatformCluster,
    read: referenceCrds,
  },
  {
    crds: "the operator's CRDs",
    server: 'kube-apiserver',
    missing: noReal ?? noReference,
    start: startReal,
    read: referenceCrds,
  },
])('$crds on $server', ({ missing, start, read }) => {
  if (missing) {
    test(`validate ${crdExamples.length} objects`, ({ skip }) => skip(missing));
    return;
  }
  let server: Server;
  let client: KubeClient;

  beforeAll(async () => {
    server = await start();
    client = new KubeClient(new Transport(loadApiServerConnection({ path: server.kubeconfig })), {
      fieldManager: 'tests',
    });
    await installCrds({
      client,
      crds: read(),
      clock: systemClock,
      log: noLog,
      signal: AbortSignal.timeout(30_000),
      timeoutSeconds: 30,
    });
  }, 60_000);
  afterAll(async () => {
    await client?.close();
    await server?.close();
  });

  /** The server's error message. */
  const rejections: string[] = [];

  test.each(crdExamples.map((specimen, index) => ({ index, specimen, ...specimen })))(
    '$title → accepted: $accepted',
    async ({ specimen, index }) => {
      const { refusal: rejection, object } = await submit(client, specimen, `specimen-${index}`);
      expect(rejection === undefined, rejection).toBe(specimen.accepted);
      if (rejection !== undefined) rejections.push(rejection);
      if (specimen.stored) expect(object).toMatchObject(specimen.stored);
      if (specimen.title.includes('dropped')) expect(object).not.toHaveProperty('spec.extra');
    },
  );

  test('every rule in them refuses at least one object', () => {
    const kinds = new Set(crdExamples.map(({ type }) => type.kind));
    const rules = read().flatMap((definition) => celRulesOf(definition).filter(({ kind }) => kinds.has(kind)));
    const unreported = rules.filter(({ message }) => !rejections.some((rejection) => rejection.includes(message)));
    expect(unreported).toEqual([]);
    expect(rules.length).toBeGreaterThan(0);
  });
});

async function submit(client: KubeClient, { type, create, patches = [] }: CrdExample, name: string) {
  const key = type.namespaced ? { namespace: 'default', name } : { name };
  try {
    const made = { ...create, metadata: key } as unknown as KubeObject;
    let object = await client.create(type, made);
    for (const { patch, subresource } of patches) {
      object = await client.merge(type, key, patch, subresource ? { subresource } : {});
    }
    return { object };
  } catch (error) {
    if (error instanceof KubeError && error.status === 422) return { refusal: error.message };
    throw error;
  }
}

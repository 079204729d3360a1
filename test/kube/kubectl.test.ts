import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { stringify } from 'yaml';
import { type KubectlResult, type KubectlRunner, openKubectlRunner } from '../e2e/support/access/kubectl.ts';
import { missingPeers } from '../peers/find-peer.ts';
import { startRealKube } from '../peers/kube-apiserver.ts';
import { aCondition } from '../support/fixtures/builders.ts';
import {
  type ApiServerTarget,
  realApiServer,
  type StartedApiServer,
  simulatedApiServer,
} from './support/api-servers.ts';
import { exampleSpecs } from './support/cel-rule-cases.ts';
import { shippedCrds } from './support/own-crds.ts';
import type { RawKubeOptions } from './support/raw-kube-client.ts';

const config = join(import.meta.dirname, '../../config');
const group = 'talos.clusters.openmcp.cloud';
const version = `${group}/v1alpha1`;

const kubeconfigOf = ({ url, ca = '', token }: RawKubeOptions): string =>
  stringify({
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'only' },
    clusters: [
      { name: 'only', cluster: { server: url, 'certificate-authority-data': Buffer.from(ca).toString('base64') } },
    ],
    users: [{ name: 'only', user: { token } }],
    contexts: [{ name: 'only', context: { cluster: 'only', user: 'only' } }],
  });

/** The lines of a table as lists of cells. */
const rows = (text: string): string[][] =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => line.trim().split(/ {2,}/));

/** The columns of a kind in `get`, from its definition; `wide` includes all. */
function columnsOf(kind: string, wide = false): string[] {
  const [, definition] = shippedCrds.find(([, one]) => one.spec.names.kind === kind) ?? [];
  const columns = definition.spec.versions[0].additionalPrinterColumns;
  const shown = columns.filter(({ priority = 0 }) => wide || priority === 0);
  return ['NAME', ...shown.map(({ name }: { name: string }) => name.toUpperCase())];
}

/** Without controllers, which no test needs here: it starts faster. */
const bare: ApiServerTarget = {
  ...{ name: realApiServer.name, missing: realApiServer.missing },
  async start() {
    const server = await startRealKube();
    const admin = { url: server.url, ca: server.ca, token: server.token };
    return { admin, controllers: false, close: server.close };
  },
};

/** Common commands of users and scripts on the provider's kinds, with the shipped files. */
describe.each([simulatedApiServer, bare])("the real kubectl with the provider's kinds ($name)", (platform) => {
  const missing = platform.missing ?? missingPeers('kubectl');
  if (missing) {
    it('supports the commands in use', ({ skip }) => skip(missing));
    return;
  }
  let started: StartedApiServer;
  let kubectl: KubectlRunner;
  const run = (line: string, input?: unknown): Promise<KubectlResult> => kubectl.run(line.split(' '), input);
  const says = async (line: string, input?: unknown): Promise<string> => kubectl.says(line.split(' '), input);
  const fails = async (line: string, input?: unknown): Promise<string> => {
    const { code, error } = await run(line, input);
    expect(code, `kubectl ${line} was to fail`).toBe(1);
    return error;
  };
  const object = (kind: string, name: string, metadata: object = {}) => ({
    ...{ apiVersion: version, kind },
    metadata: { name, ...metadata },
    spec: exampleSpecs[kind],
  });
  const patchStatus = (what: string, status: object) =>
    says(`patch ${what} --subresource=status --type=merge -p ${JSON.stringify({ status })}`);
  const readyCondition = (status: string) => ({
    ...{ type: 'Ready', status, reason: 'AsExpected', message: 'Said.' },
    lastTransitionTime: '2026-11-21T09:00:00Z',
  });

  beforeAll(async () => {
    started = await platform.start();
    kubectl = await openKubectlRunner(kubeconfigOf(started.admin));
    const { out, error } = await run(`apply --server-side -f ${join(config, 'crd')}`);
    expect(out.match(/serverside-applied/g)).toHaveLength(shippedCrds.length);
    // Warnings of a server are printed to this stream.
    expect(error).toBe('');
    const names = shippedCrds.map(([, { metadata }]) => `crd/${metadata.name}`).join(' ');
    await says(`wait --for=condition=Established ${names} --timeout=20s`);
    await says('create namespace openmcp-system');
    for (const kind of ['Host', 'Machine']) await says('create -f -', object(kind, 'one'));
  }, 90_000);
  afterAll(async () => {
    await kubectl?.close();
    await started?.close();
  }, 60_000);

  it('apply accepts the sample, and changes nothing the second time', async () => {
    const sample = `apply -f ${join(config, 'samples/truenas.yaml')}`;
    const seen = () => says('get tpc small -o jsonpath={.metadata.generation}/{.metadata.resourceVersion}');
    expect(await says(sample)).toContain(`providerconfig.${group}/small created`);
    const before = await seen();
    await says(sample);
    expect(await seen()).toBe(before);
  });

  it('apply --server-side writes its fields, and reports the conflicting manager', async () => {
    const wanted = { ...object('ProviderConfig', 'served'), spec: exampleSpecs['ProviderConfig'] };
    expect(await says('apply --server-side --field-manager=one -f -', wanted)).toContain('serverside-applied');
    const changed = { ...wanted, spec: { ...wanted.spec, talos: { version: '1.13.8' } } };
    const error = await fails('apply --server-side --field-manager=two -f -', changed);
    expect(error).toContain('conflict with "one": .spec.talos.version');
    await says('apply --server-side --field-manager=two --force-conflicts -f -', changed);
    expect(await says('get tpc served -o jsonpath={.spec.talos.version}')).toBe('1.13.8');
  });

  it('get shows the columns of the kinds by their short names, and all columns with -o wide', async () => {
    await patchStatus('tm one', {
      ...{ observedGeneration: 1, phase: 'Ready', message: 'Well.', address: '192.168.10.21' },
      progress: { plan: 'provision', step: 'await-talos', since: '2026-11-21T09:00:00Z', failures: 0, facts: {} },
      conditions: [aCondition('UpToDate')],
    });
    for (const [short, kind] of [
      ['tpc', 'ProviderConfig'],
      ['tm', 'Machine'],
      ['th', 'Host'],
    ] as const) {
      expect(rows(await says(`get ${short}`))[0]).toEqual(columnsOf(kind));
      expect(rows(await says(`get ${short} -o wide`))[0]).toEqual(columnsOf(kind, true));
    }
    expect(rows(await says('get tm'))[1]?.slice(0, 7)).toEqual([
      ...['one', 'one', 'worker', 'Ready', 'True', '192.168.10.21', 'Well.'],
    ]);
    expect((await says('get talos -o name')).trim().split('\n').sort()).toEqual([
      ...[
        `host.${group}/one`,
        `machine.${group}/one`,
        `providerconfig.${group}/served`,
        `providerconfig.${group}/small`,
      ],
    ]);
    expect(await says('get tpc --field-selector spec.providerRef.name=talos -o name')).toContain('/small');
  });

  it('describe shows the spec', async () => {
    const text = await says('describe tpc small');
    expect(text).toMatch(/Spec:\n(?: .*\n)* +Control Plane:\n(?: .*\n)* +Replicas: +3\n/);
    expect(text).toMatch(/Truenas:\n(?: .*\n)* +Pool: +tank\n/);
    expect(text).toMatch(/Events: +<none>/);
  });

  it("patch changes mutable fields, and is rejected with the rule's message for immutable ones", async () => {
    expect(await says('patch tpc small --type=merge -p {"spec":{"controlPlane":{"replicas":5}}}')).toContain('patched');
    const immutable = await fails('patch tpc small --type=merge -p {"spec":{"network":{"dnsDomain":"b.local"}}}');
    expect(immutable).toContain('network.dnsDomain cannot be changed, running clusters depend on it');
    const even = '[{"op":"replace","path":"/spec/controlPlane/replicas","value":2}]';
    expect(await fails(`patch tpc small --type=json -p ${even}`)).toContain('controlPlane.replicas must be 1, 3 or 5');
  });

  it('apply removes fields that the file no longer has', async () => {
    const map = (data: object) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'moved' }, data });
    await says('apply -f -', map({ a: '1', b: '2' }));
    await says('apply -f -', map({ a: '1' }));
    expect(await says('get cm moved -o jsonpath={.data}')).toBe('{"a":"1"}');
  });

  it('create makes Secrets and tokens, which it sends as protobuf', async () => {
    await says('create secret generic hidden --from-literal=word=magic');
    expect(await says('get secret hidden -o jsonpath={.data.word}')).toBe(Buffer.from('magic').toString('base64'));
    await says('create serviceaccount bot');
    const token = (await says('create token bot')).trim();
    const whoami = await openKubectlRunner(kubeconfigOf({ ...started.admin, token }));
    onTestFinished(() => whoami.close());
    expect(await whoami.says(['auth', 'whoami'])).toContain('system:serviceaccount:default:bot');
  });

  it('wait ends when the condition holds', async () => {
    const waiting = run('wait --for=condition=Ready tpc/small --timeout=20s');
    const status = (ready: string) => ({ observedGeneration: 2, phase: 'Ready', conditions: [readyCondition(ready)] });
    await patchStatus('tpc small', status('False'));
    await patchStatus('tpc small', status('True'));
    expect(await waiting).toMatchObject({ code: 0, out: expect.stringContaining('condition met') });
    expect(rows(await says('get tpc small'))[1]?.slice(0, 2)).toEqual(['small', 'True']);
  });

  it('scale changes the number of nodes of a NodePool, and its status has what autoscalers read', async () => {
    await says('create -f -', object('NodePool', 'scaled'));
    await patchStatus('tnp scaled', { observedGeneration: 1, replicas: 2, selector: 'a=b', conditions: [] });
    const scale = JSON.parse(await says(`get --raw /apis/${version}/nodepools/scaled/scale`));
    expect(scale).toMatchObject({ kind: 'Scale', spec: { replicas: 2 }, status: { replicas: 2, selector: 'a=b' } });
    expect(await says('scale tnp scaled --replicas=3')).toBe(`nodepool.${group}/scaled scaled\n`);
    expect(await says('get tnp scaled -o jsonpath={.spec.replicas},{.metadata.generation}')).toBe('3,2');
  });

  it('delete --wait waits for the finalizer', async () => {
    await says('create -f -', object('Host', 'held', { finalizers: ['talos.clusters.openmcp.cloud/host'] }));
    const deleting = run('delete th held --wait --timeout=20s');
    await expect
      .poll(() => says('get th held -o jsonpath={.metadata.deletionTimestamp}'), { timeout: 10_000 })
      .not.toBe('');
    await says('patch th held --type=merge -p {"metadata":{"finalizers":null}}');
    expect(await deleting).toMatchObject({ code: 0, out: expect.stringContaining('"held" deleted') });
    expect(await fails('get th held')).toContain('NotFound');
  });

  it('auth can-i reports exactly the rights of the shipped roles', async () => {
    await says(`apply -f ${join(config, 'rbac')}`);
    const can = (what: string) =>
      run(`auth can-i ${what} --as=system:serviceaccount:openmcp-system:cluster-provider-talos`);
    expect(await can(`create machines.${group}`)).toMatchObject({ code: 0, out: 'yes\n' });
    expect(await can(`patch providerconfigs.${group} --subresource=status`)).toMatchObject({ code: 0, out: 'yes\n' });
    expect(await can('get secrets -n openmcp-system')).toMatchObject({ code: 0, out: 'yes\n' });
    expect(await can('delete namespaces')).toMatchObject({ code: 1, out: 'no\n' });
    expect(await can('create clusterrolebindings.rbac.authorization.k8s.io')).toMatchObject({ code: 1, out: 'no\n' });
  });

  it('api-resources lists the kinds with their short names', async () => {
    expect(rows(await says(`api-resources --api-group=${group}`))).toEqual([
      ['NAME', 'SHORTNAMES', 'APIVERSION', 'NAMESPACED', 'KIND'],
      ['clusterconfigs', 'tcc', version, 'true', 'ClusterConfig'],
      ['hosts', 'th', version, 'false', 'Host'],
      ['machines', 'tm', version, 'false', 'Machine'],
      ['nodepools', 'tnp', version, 'false', 'NodePool'],
      ['providerconfigs', 'tpc', version, 'false', 'ProviderConfig'],
    ]);
    expect((await says('api-resources --categories=talos -o name')).trim().split('\n')).toHaveLength(5);
  });

  it('explain shows the descriptions of the fields', async () => {
    const text = await says('explain tpc.spec.truenas');
    expect(text).toMatch(/KIND: +ProviderConfig\nVERSION: +v1alpha1/);
    expect(text).toMatch(/FIELD: truenas <Object>/);
    expect(text).toMatch(/sizes\t<\[\]Object> -required-\n/);
    expect(await says('explain tpc.spec.truenas.systems')).toMatch(/pool\t<string> -required-\n/);
    expect(await says('explain tpc.spec --recursive')).toMatch(/workerPools\t<\[\]Object>\n(?: .*\n)* +taints/);
  });
});

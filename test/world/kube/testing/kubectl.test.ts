import { beforeAll, describe, expect, it } from 'vitest';
import { missingPeers } from '../../../peers/find-peer.ts';
import { gadgetDefinition, type KubectlFixture, newGadget, startKubectlFixture } from './kubectl-fixture.ts';

const missing = missingPeers('kubectl');

if (missing) it('the simulated API server answers the real kubectl', ({ skip }) => skip(missing));
else describe('the real kubectl', () => describeKubectl());

/** A table's lines as lists of cells. */
const rows = (text: string): string[][] =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => line.trim().split(/ {2,}/));

function describeKubectl(): void {
  let kubectl: KubectlFixture;
  const says = (args: string, input?: unknown) => kubectl.says(args, input);
  const fails = async (args: string, input?: unknown) => {
    const { code, error } = await kubectl.run(args, input);
    expect(code, `kubectl ${args} was to fail`).not.toBe(0);
    return error;
  };
  const gadgetPath = (name: string) => `/apis/world.example.com/v1/namespaces/default/gadgets/${name}`;
  const setReady = (name: string, status: string) =>
    kubectl.kube.call(
      'PATCH',
      `${gadgetPath(name)}/status`,
      { status: { conditions: [{ type: 'Ready', status }] } },
      { type: 'application/merge-patch+json' },
    );

  beforeAll(async () => {
    kubectl = await startKubectlFixture();
    expect(await says('create -f -', gadgetDefinition)).toContain('gadgets.world.example.com created');
    await says('wait --for=condition=Established crd/gadgets.world.example.com --timeout=10s');
    await says('create -f -', newGadget('first', { size: 1, color: 'red' }));
    await setReady('first', 'True');
  });

  describe('get', () => {
    it('prints custom objects with the columns of their definition, the wide ones on request', async () => {
      expect(rows(await says('get gg'))).toEqual([
        ['NAME', 'SIZE', 'READY'],
        ['first', '1', 'True'],
      ]);
      expect(rows(await says('get gadgets.v1.world.example.com first -o wide'))[1]).toEqual([
        'first',
        '1',
        'True',
        'red',
      ]);
    });

    it('prints built-in objects with their columns, several kinds at once, and by selector', async () => {
      await says('create configmap shown --from-literal=a=1 --from-literal=b=2');
      expect(rows(await says('get cm shown'))[1]?.slice(0, 2)).toEqual(['shown', '2']);
      expect(await says('get ns,sa -n default')).toMatch(/namespace\/kube-system +Active.*serviceaccount\/default/s);
      expect((await says('get cm --field-selector metadata.name=shown -o name')).trim()).toBe('configmap/shown');
      expect(await says('get toys')).toContain('first');
    });

    it("prints the server's error for an unknown object", async () => {
      expect(await fails('get gadget nobody')).toBe(
        'Error from server (NotFound): gadgets.world.example.com "nobody" not found\n',
      );
      expect(await fails('get nothing')).toContain(`the server doesn't have a resource type "nothing"`);
    });

    it('prints changes while it watches', async () => {
      const { outcome } = await kubectl.watches('gadgets', 'get gadgets --watch --request-timeout=2s');
      await says('create -f -', newGadget('watched', { size: 7 }));
      expect(rows((await outcome).out)).toEqual(
        expect.arrayContaining([
          ['first', '1', 'True'],
          ['watched', '7'],
        ]),
      );
      await says('delete gadget watched');
    });
  });

  describe('writes', () => {
    it('apply creates, detects no change, changes, and removes dropped fields', async () => {
      expect(await says('apply -f -', newGadget('applied', { size: 2, color: 'blue' }))).toContain('applied created');
      expect(await says('apply -f -', newGadget('applied', { size: 2, color: 'blue' }))).toContain('applied unchanged');
      expect(await says('apply -f -', newGadget('applied', { size: 3 }))).toContain('applied configured');
      expect(JSON.parse(await says('get gadget applied -o json')).spec).toEqual({ size: 3 });
    });

    it('apply --server-side merges lists by key, and names conflicting managers', async () => {
      const parts = (...list: object[]) => newGadget('shared', { size: 1, parts: list });
      await says('apply --server-side --field-manager=one -f -', parts({ name: 'a', weight: 1 }));
      await says('apply --server-side --field-manager=two -f -', parts({ name: 'b', weight: 2 }));
      const shared = JSON.parse(await says('get gadget shared -o json'));
      expect(shared.spec.parts).toEqual([
        { name: 'a', weight: 1 },
        { name: 'b', weight: 2 },
      ]);
      const error = await fails(
        'apply --server-side --field-manager=two -f -',
        parts({ name: 'a', weight: 9 }, { name: 'b', weight: 2 }),
      );
      expect(error).toContain('conflict with "one": .spec.parts[name="a"].weight');
    });

    it('apply migrates from client-side to server-side without a conflict', async () => {
      const map = (value: string) => ({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'moved', namespace: 'default' },
        data: { value },
      });
      await says('apply -f -', map('1'));
      expect(await says('apply --server-side -f -', map('2'))).toContain('serverside-applied');
      const { metadata, data } = JSON.parse(await says('get cm moved -o json --show-managed-fields'));
      expect(data).toEqual({ value: '2' });
      expect(metadata.managedFields.map((entry: { manager: string }) => entry.manager)).not.toContain(
        'kubectl-client-side-apply',
      );
      expect(JSON.parse(metadata.annotations['kubectl.kubernetes.io/last-applied-configuration']).data).toEqual(data);
    });

    it('objects that violate the schema are refused, unknown fields before they are sent', async () => {
      expect(await fails('create -f -', newGadget('big', { size: 11 }))).toContain(
        'spec.size: Invalid value: 11: spec.size in body should be less than or equal to 10',
      );
      expect(await fails('create -f -', newGadget('odd', { size: 1, sice: 1 }))).toContain(
        'strict decoding error: unknown field "spec.sice"',
      );
      expect(await says('create --dry-run=server -f -', newGadget('dry', { size: 1 }))).toContain('(server dry run)');
      expect(await fails('get gadget dry')).toContain('NotFound');
    });

    it('patch of all three types', async () => {
      const patch = (kind: string, name: string, type: string, text: string) =>
        says(`patch ${kind} ${name} --type=${type} -p ${text}`);
      await says('create configmap patched --from-literal=a=1');
      await patch('cm', 'patched', 'strategic', '{"data":{"b":"2"}}');
      await patch('cm', 'patched', 'merge', '{"data":{"a":null}}');
      await patch('cm', 'patched', 'json', '[{"op":"add","path":"/data/c","value":"3"}]');
      expect(JSON.parse(await says('get cm patched -o json')).data).toEqual({ b: '2', c: '3' });
      await says('label cm patched tier=front');
      expect(await says('get cm -l tier=front -o name')).toBe('configmap/patched\n');
    });

    it('create makes the objects that it sends as protobuf', async () => {
      await says('create namespace made');
      await says('create serviceaccount bot -n made');
      await says('create secret generic hidden -n made --from-literal=word=magic');
      await says('create role reader -n made --verb=get --resource=secrets');
      await says('create rolebinding reads -n made --role=reader --serviceaccount=made:bot');
      const secret = JSON.parse(await says('get secret hidden -n made -o json'));
      expect(Buffer.from(secret.data.word, 'base64').toString()).toBe('magic');
      const as = '--as=system:serviceaccount:made:bot';
      expect(await says(`auth can-i get secrets -n made ${as}`)).toBe('yes\n');
      expect((await kubectl.run(`auth can-i delete secrets -n made ${as}`)).out).toBe('no\n');
      const token = (await says('create token bot -n made')).trim();
      expect(await says(`get secret hidden -n made -o name --kubeconfig=${await withoutUser()} --token=${token}`)).toBe(
        'secret/hidden\n',
      );
    });
  });

  const withoutUser = () => kubectl.kubeconfigFor({});

  describe('wait', () => {
    it('for a condition', async () => {
      await says('create -f -', newGadget('slow', { size: 1 }));
      const { outcome } = await kubectl.watches('gadgets', 'wait --for=condition=Ready gadget/slow --timeout=10s');
      await setReady('slow', 'False');
      await setReady('slow', 'True');
      expect((await outcome).out).toContain('condition met');
    });

    it('for the end of a deletion, finalizers included', async () => {
      const held = newGadget('held', { size: 1 });
      await says('create -f -', { ...held, metadata: { ...held.metadata, finalizers: ['world.example.com/hold'] } });
      const { outcome } = await kubectl.watches('gadgets', 'delete gadget held --wait');
      await says('patch gadget held --type=merge -p {"metadata":{"finalizers":null}}');
      expect((await outcome).out).toContain('"held" deleted');
      expect((await kubectl.kube.call('GET', gadgetPath('held'))).code).toBe(404);
    });
  });

  describe('queries', () => {
    it('its own user', async () => {
      expect(rows(await says('auth whoami'))).toEqual([
        ['ATTRIBUTE', 'VALUE'],
        ['Username', 'admin'],
        ['Groups', '[system:masters system:authenticated]'],
      ]);
    });

    it('the resources', async () => {
      expect(rows(await says('api-resources --api-group=world.example.com'))).toEqual([
        ['NAME', 'SHORTNAMES', 'APIVERSION', 'NAMESPACED', 'KIND'],
        ['gadgets', 'gg', 'world.example.com/v1', 'true', 'Gadget'],
      ]);
      const all = await says('api-resources --verbs=list -o name');
      for (const name of ['pods', 'nodes', 'deployments.apps', 'leases.coordination.k8s.io'])
        expect(all.split('\n')).toContain(name);
    });

    it('the explanation of a kind', async () => {
      const text = await says('explain gadget.spec');
      expect(text).toMatch(/KIND: +Gadget\nVERSION: +v1/);
      expect(text).toMatch(/What is asked for\./);
      expect(text).toMatch(/size\t<integer> -required-\n +How big it is\./);
    });

    it('the description of one object, with its events', async () => {
      const { body } = await kubectl.kube.call('GET', gadgetPath('first'));
      await kubectl.kube.call('POST', '/api/v1/namespaces/default/events', {
        metadata: { name: 'first.1' },
        involvedObject: { kind: 'Gadget', namespace: 'default', name: 'first', uid: body.metadata.uid },
        reason: 'Played',
        message: 'It was played with.',
        type: 'Normal',
        lastTimestamp: body.metadata.creationTimestamp,
      });
      const text = await says('describe gadget first');
      expect(text).toMatch(/Name: +first\n/);
      expect(text).toMatch(/Spec:\n +Color: +red\n +Size: +1/);
      expect(text).toMatch(/Normal +Played .*It was played with\./);
    });
  });
}

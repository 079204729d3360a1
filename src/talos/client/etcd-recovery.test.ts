import { create } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { describe, expect, it } from 'vitest';
import { NodeServers } from '../../../test/talos/node-servers.ts';
import { ProviderError } from '../../lib/errors.ts';
import { GetResponseSchema } from '../gen/cosi_pb.ts';

const nodes = new NodeServers();

async function* piecesOf(...pieces: Uint8Array[]) {
  yield* pieces;
}

describe('the restore of etcd', () => {
  it('sends a snapshot in messages that are not too large', async () => {
    const sizes: number[] = [];
    let content = Buffer.alloc(0);
    const server = await nodes.start({
      async etcdRecover(request) {
        for await (const { bytes } of request) {
          sizes.push(bytes.length);
          content = Buffer.concat([content, bytes]);
        }
        return { messages: [{}] };
      },
    });
    const large = Buffer.alloc(2.5 * 2 ** 20, 7);
    await nodes.connect(server).uploadEtcdSnapshot(piecesOf(large, Buffer.from('end')));
    expect(sizes).toEqual([2 ** 20, 2 ** 20, 2 ** 19, 3]);
    expect(content.equals(Buffer.concat([large, Buffer.from('end')]))).toBe(true);
  });

  it('a content that does not end in order is no snapshot, and its error is none of the node', async () => {
    let isWhole = false;
    const server = await nodes.start({
      async etcdRecover(request) {
        for await (const _ of request);
        isWhole = true;
        return { messages: [{}] };
      },
    });
    async function* broken() {
      yield Buffer.from('x');
      throw problem;
    }
    const problem = new ProviderError('BACKUP_DAMAGED', 'the object was changed.');
    await expect(nodes.connect(server).uploadEtcdSnapshot(broken())).rejects.toBe(problem);
    expect(isWhole).toBe(false);
  });

  it('asks for a bootstrap from the snapshot, with its checksum', async () => {
    const server = await nodes.start({
      bootstrap: ({ recoverEtcd, recoverSkipHashCheck }) => {
        expect([recoverEtcd, recoverSkipHashCheck]).toEqual([true, false]);
        return { messages: [{}] };
      },
    });
    await nodes.connect(server).bootstrapFromSnapshot();
  });

  it('a node has data of etcd if the database can be read, and reads no more than its beginning', async () => {
    let sent = 0;
    let code: Code | undefined;
    const server = await nodes.start({
      async *read({ path }) {
        expect(path).toBe('/var/lib/etcd/member/snap/db');
        if (code !== undefined) throw new ConnectError('stat: no such file or directory', code);
        for (; sent < 1000; sent += 1) yield { bytes: Buffer.alloc(64 * 1024) };
      },
    });
    const node = nodes.connect(server);
    expect(await node.hasEtcdData()).toBe(true);
    expect(sent).toBeLessThan(1000);
    code = Code.NotFound;
    expect(await node.hasEtcdData()).toBe(false);
    code = Code.Unknown;
    await expect(node.hasEtcdData()).rejects.toThrow(/no such file/);
  });

  it.each([
    [undefined, ['EPHEMERAL']],
    ['type: directory', ['EPHEMERAL']],
    ['type: partition', ['EPHEMERAL', 'ETCD']],
  ])('the data are wiped where etcd keeps them: a volume of its own %j', async (yamlSpec, labels) => {
    const server = await nodes.start(
      {
        reset: ({ graceful, reboot, systemPartitionsToWipe }) => {
          expect([graceful, reboot]).toEqual([false, true]);
          expect(systemPartitionsToWipe.map(({ label, wipe }) => wipe && label)).toEqual(labels);
          return { messages: [{}] };
        },
      },
      {
        get: ({ id }) => {
          if (yamlSpec === undefined) throw new ConnectError('it does not exist', Code.NotFound);
          return create(GetResponseSchema, { resource: { metadata: { id }, spec: { yamlSpec } } });
        },
      },
    );
    await nodes.connect(server).reset({ graceful: false, reboot: true, wipe: 'data' });
  });
});

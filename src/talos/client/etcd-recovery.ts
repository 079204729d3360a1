import { ProviderError } from '../../lib/errors.ts';
import { WatchedSource } from '../../lib/watched-source.ts';
import { MachineService } from '../gen/machine_pb.ts';
import type { TalosCallOptions, TalosConnection } from './connection.ts';

/** The calls with which etcd is restored from a snapshot. Only control planes answer. */
export interface EtcdRecoveryCalls {
  /**
   * Whether the node has a database of etcd. In state `Preparing` the service proves nothing: it pulls its image before it
   * looks at its data.
   */
  hasEtcdData(options?: TalosCallOptions): Promise<boolean>;
  /**
   * Sends a snapshot to the node, in place of an earlier one. A reboot loses it. Throws TALOS_NOT_READY before the node
   * has mounted its volumes, and the error of the content if that fails.
   */
  uploadEtcdSnapshot(content: AsyncIterable<Uint8Array>, options?: TalosCallOptions): Promise<void>;
  /**
   * Starts etcd as a cluster of one member with the content of the uploaded snapshot, whose checksum the node verifies.
   * The reply comes before that: observe the service, which fails without a snapshot, or with a damaged one. Throws
   * TALOS_ALREADY_BOOTSTRAPPED when the node holds etcd data.
   */
  bootstrapFromSnapshot(options?: TalosCallOptions): Promise<void>;
}

/** Where etcd keeps its database (talos: pkg/machinery/constants, etcd: server/storage/datadir). */
const databasePath = '/var/lib/etcd/member/snap/db';
/** Enough for the largest database, 8 GiB, over a slow line of 5 MiB a second. */
const uploadSeconds = 1800;
/** A snapshot has pieces of any size; a message of gRPC has a limit. */
const maxPieceBytes = 1024 * 1024;

export const createEtcdRecoveryCalls = (connection: TalosConnection): EtcdRecoveryCalls => ({
  hasEtcdData: (options = {}) => hasFile(connection, databasePath, options),
  uploadEtcdSnapshot: async (content, options = {}) => {
    const slow = { ...options, seconds: uploadSeconds };
    const watched = new WatchedSource(content);
    try {
      await connection.call(MachineService, 'EtcdRecover', slow, (client, call) =>
        client.etcdRecover(toMessages(watched), call),
      );
    } catch (error) {
      // The call wraps it in an error of the node.
      throw watched.errorOf(error);
    }
  },
  bootstrapFromSnapshot: async (options = {}) => {
    await connection.call(MachineService, 'Bootstrap', options, (client, call) =>
      client.bootstrap({ recoverEtcd: true }, call),
    );
  },
});

async function* toMessages(content: AsyncIterable<Uint8Array>): AsyncIterable<{ bytes: Uint8Array<ArrayBuffer> }> {
  for await (const piece of content)
    for (let at = 0; at < piece.length; at += maxPieceBytes)
      yield { bytes: new Uint8Array(piece.subarray(at, at + maxPieceBytes)) };
}

/** Reads until the first piece: the file may be large. */
async function hasFile(connection: TalosConnection, path: string, options: TalosCallOptions): Promise<boolean> {
  try {
    return await connection.call(MachineService, 'Read', options, async (client, call) => {
      for await (const _ of client.read({ path }, call)) break;
      return true;
    });
  } catch (error) {
    if (error instanceof ProviderError && error.code === 'TALOS_NOT_FOUND') return false;
    throw error;
  }
}

import { ProviderError } from '../../lib/errors.ts';
import { EtcdMemberAlarm_AlarmType as AlarmType, MachineService } from '../gen/machine_pb.ts';
import { singleMessage, type TalosCallOptions, type TalosConnection } from './connection.ts';
import { createNodeReadCalls, type NodeService } from './node-calls.ts';

/** One member of etcd, as observed by the queried node. */
export interface EtcdMember {
  /** Sixteen hexadecimal digits, as in Talos' own resources. */
  readonly id: string;
  /** The host name of its node. Empty until the member has started. */
  readonly name: string;
  readonly peerUrls: readonly string[];
  /** The member replicates data and does not vote yet. */
  readonly learner: boolean;
}

/** The status that a member reports about itself. */
export interface EtcdStatus {
  readonly memberId: string;
  /** Id of the leader; `0000000000000000` when there is none. */
  readonly leaderId: string;
  readonly learner: boolean;
  readonly errors: readonly string[];
  readonly databaseBytes: number;
  /** What a defragmentation would leave. */
  readonly databaseInUseBytes: number;
}

/** The member follows a leader and reports no error. A learner can be healthy, too. */
export const isHealthyMember = ({ errors, leaderId }: Pick<EtcdStatus, 'errors' | 'leaderId'>): boolean =>
  errors.length === 0 && !/^0*$/.test(leaderId);

/** Everything that the member on a node reports about etcd. */
export interface EtcdHealth {
  readonly status: EtcdStatus;
  readonly members: readonly EtcdMember[];
  readonly alarms: readonly string[];
}

/** The etcd calls. Each one queries the connected node; only control planes answer. */
export interface EtcdClient {
  /**
   * Starts etcd for the first time, on one node of the cluster, exactly once. A second call stops the etcd that the
   * first one is starting: check {@link etcdService} instead. Success does not prove that this call bootstrapped the
   * cluster: list the members. Throws TALOS_NOT_READY for a while after each boot, TALOS_ALREADY_BOOTSTRAPPED when the
   * node holds etcd data.
   */
  bootstrap(options?: TalosCallOptions): Promise<void>;
  /** The etcd service on this node; undefined until Talos has defined it. Answers also while etcd itself does not. */
  etcdService(options?: TalosCallOptions): Promise<NodeService | undefined>;
  /**
   * The members according to the member on this node. Throws TALOS_NOT_READY while etcd does not run here, which does
   * not prove that the cluster was never bootstrapped.
   */
  etcdMembers(options?: TalosCallOptions): Promise<readonly EtcdMember[]>;
  etcdStatus(options?: TalosCallOptions): Promise<EtcdStatus>;
  /** The active alarms, as `NOSPACE of 1234567890abcdef`. */
  etcdAlarms(options?: TalosCallOptions): Promise<readonly string[]>;
  /** Status, members and alarms, with fewer calls than one after the other. */
  etcdHealth(options?: TalosCallOptions): Promise<EtcdHealth>;
  /**
   * Transfers the leadership to another member. Returns the name of the new leader; undefined when this member did not
   * lead.
   */
  forfeitLeadership(options?: TalosCallOptions): Promise<string | undefined>;
  /** Removes the node's own member from etcd. */
  leaveEtcd(options?: TalosCallOptions): Promise<void>;
  /**
   * Streams a snapshot to `write`, piece by piece; the node is only read from while `write` is done, and a piece is valid
   * until then. Success does not prove that the snapshot is whole. Throws TALOS_UNSUPPORTED on a worker.
   */
  etcdSnapshot(write: (piece: Uint8Array) => Promise<void>, options?: TalosCallOptions): Promise<void>;
  /** Rewrites the database of this member without its free pages. The member does not answer meanwhile. */
  defragmentEtcd(options?: TalosCallOptions): Promise<void>;
  /** Ends all alarms of the cluster. */
  disarmEtcdAlarms(options?: TalosCallOptions): Promise<void>;
  /** Removes a dead member, by the {@link EtcdMember.id} that a healthy member reports. */
  removeEtcdMember(id: string, options?: TalosCallOptions): Promise<void>;
}

/** What etcd knows without asking other members. */
const statusSeconds = 5;

/** A leaving member waits for the agreement of the others. */
const membershipSeconds = 120;

/** Some ten seconds for each GiB. */
const defragmentSeconds = 300;

/** Enough for the largest database, 8 GiB, over a slow line of 5 MiB a second. */
const snapshotSeconds = 1800;

const machineService = MachineService;

export const createEtcdClient = (connection: TalosConnection): EtcdClient => ({
  ...createReadCalls(connection),
  ...createWriteCalls(connection),
});

type EtcdReadCall = 'etcdService' | 'etcdMembers' | 'etcdStatus' | 'etcdAlarms' | 'etcdHealth';

function createReadCalls(connection: TalosConnection): Pick<EtcdClient, EtcdReadCall> {
  const whileRunning =
    <T>(read: (connection: TalosConnection, options: TalosCallOptions) => Promise<T>) =>
    async (options: TalosCallOptions = {}): Promise<T> => {
      await requireRunning(connection, options);
      return await read(connection, options);
    };
  return {
    etcdService: (options = {}) => findEtcdService(connection, options),
    etcdMembers: whileRunning(readMembers),
    etcdStatus: whileRunning(readStatus),
    etcdAlarms: whileRunning(readAlarms),
    etcdHealth: async (options = {}) => ({
      status: await readStatusOrService(connection, options),
      members: await readMembers(connection, options),
      alarms: await readAlarms(connection, options),
    }),
  };
}

/** A running etcd answers at once, so its service is looked at only if it does not. */
async function readStatusOrService(connection: TalosConnection, options: TalosCallOptions): Promise<EtcdStatus> {
  try {
    return await readStatus(connection, { seconds: statusSeconds, ...options });
  } catch (error) {
    options.signal?.throwIfAborted();
    await requireRunning(connection, options);
    throw error;
  }
}

async function readMembers(connection: TalosConnection, options: TalosCallOptions): Promise<readonly EtcdMember[]> {
  // Without this flag Talos queries all endpoints that it knows. Before the API server runs, the only endpoint can be the
  // virtual address, where etcd does not listen, so that the call hangs.
  const reply = await connection.call(machineService, 'EtcdMemberList', options, (client, call) =>
    client.etcdMemberList({ queryLocal: true }, call),
  );
  const members = singleMessage(reply.messages, 'EtcdMemberList').members;
  return members.map((member) => ({
    id: toHex(member.id),
    name: member.hostname,
    peerUrls: member.peerUrls,
    learner: member.isLearner,
  }));
}

async function readStatus(connection: TalosConnection, options: TalosCallOptions): Promise<EtcdStatus> {
  const reply = await connection.call(machineService, 'EtcdStatus', options, (client, call) =>
    client.etcdStatus({}, call),
  );
  const status = singleMessage(reply.messages, 'EtcdStatus').memberStatus;
  return {
    memberId: toHex(status?.memberId ?? 0n),
    leaderId: toHex(status?.leader ?? 0n),
    learner: status?.isLearner ?? false,
    errors: status?.errors ?? [],
    databaseBytes: Number(status?.dbSize ?? 0n),
    databaseInUseBytes: Number(status?.dbSizeInUse ?? 0n),
  };
}

async function readAlarms(connection: TalosConnection, options: TalosCallOptions): Promise<readonly string[]> {
  const reply = await connection.call(machineService, 'EtcdAlarmList', options, (client, call) =>
    client.etcdAlarmList({}, call),
  );
  return reply.messages
    .flatMap((message) => message.memberAlarms)
    .filter(({ alarm }) => alarm !== AlarmType.NONE)
    .map(({ alarm, memberId }) => `${alarmName(alarm)} of ${toHex(memberId)}`);
}

const findEtcdService = async (
  connection: TalosConnection,
  options: TalosCallOptions,
): Promise<NodeService | undefined> =>
  (await createNodeReadCalls(connection).services(options)).find(({ id }) => id === 'etcd');

/** Calls to a stopped etcd hang until their deadline; the state of the service is available at once. */
async function requireRunning(connection: TalosConnection, options: TalosCallOptions): Promise<void> {
  const etcd = await findEtcdService(connection, options);
  if (etcd?.state === 'Running') return;
  throw new ProviderError('TALOS_NOT_READY', `${connection.address}: ${describeService('etcd', etcd)}`);
}

/** The state of a service, as a sentence for users. */
export function describeService(id: string, service: NodeService | undefined): string {
  if (!service) return `its service ${id} does not exist yet.`;
  const health = service.state === 'Running' && service.healthy === false ? ' and not healthy' : '';
  const message = service.message === '' ? '' : `: ${service.message}`;
  return `its service ${id} is in state ${service.state}${health}${message}.`;
}

function createWriteCalls(connection: TalosConnection): Omit<EtcdClient, EtcdReadCall> {
  return {
    bootstrap: async (options = {}) => {
      await connection.call(machineService, 'Bootstrap', options, (client, call) => client.bootstrap({}, call));
    },
    forfeitLeadership: async (options = {}) => {
      const slow = { ...options, seconds: membershipSeconds };
      const reply = await connection.call(machineService, 'EtcdForfeitLeadership', slow, (client, call) =>
        client.etcdForfeitLeadership({}, call),
      );
      return reply.messages[0]?.member || undefined;
    },
    leaveEtcd: async (options = {}) => {
      const slow = { ...options, seconds: membershipSeconds };
      await connection.call(machineService, 'EtcdLeaveCluster', slow, (client, call) =>
        client.etcdLeaveCluster({}, call),
      );
    },
    etcdSnapshot: async (write, options = {}) => {
      const slow = { ...options, seconds: snapshotSeconds };
      await connection.callForData(machineService.method.etcdSnapshot, slow, async (batches) => {
        for await (const batch of batches) for (const piece of batch) await write(piece);
      });
    },
    defragmentEtcd: async (options = {}) => {
      const slow = { ...options, seconds: defragmentSeconds };
      await connection.call(machineService, 'EtcdDefragment', slow, (client, call) => client.etcdDefragment({}, call));
    },
    disarmEtcdAlarms: async (options = {}) => {
      await connection.call(machineService, 'EtcdAlarmDisarm', options, (client, call) =>
        client.etcdAlarmDisarm({}, call),
      );
    },
    removeEtcdMember: async (id, options = {}) => {
      const slow = { ...options, seconds: membershipSeconds };
      const memberId = BigInt(`0x${id}`);
      await connection.call(machineService, 'EtcdRemoveMemberByID', slow, (client, call) =>
        client.etcdRemoveMemberByID({ memberId }, call),
      );
    },
  };
}

const toHex = (id: bigint): string => id.toString(16).padStart(16, '0');

const alarmName = (alarm: number): string =>
  Object.entries(AlarmType).find(([, value]) => value === alarm)?.[0] ?? `alarm ${alarm}`;

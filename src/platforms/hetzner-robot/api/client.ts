import { isIPv4 } from 'node:net';
import type { z } from 'zod';
import type { ProviderError } from '../../../lib/errors.ts';
import { HetznerRobotError } from '../error-codes.ts';
import { hasCode, robotErrorCodeOf } from '../errors.ts';
import type { RobotAccount, RobotCallOptions, RobotScope, ServerAddresses } from './account.ts';
import type { FormField } from './form.ts';
import { robotKeyFingerprint } from './key-fingerprint.ts';
import type { RobotRequest } from './permit-request.ts';
import * as reply from './schema.ts';

/** A reset type that this provider may request. */
export type ResetType = 'sw' | 'hw' | 'power' | 'power_long';

/** A cached answer of this age is accepted and costs no call. */
export interface CachedCallOptions extends RobotCallOptions {
  readonly maxAgeSeconds?: number;
  /** Number of a server. The cached answer must not be older than our own last change of it. */
  readonly withoutUpdates?: number;
}

/**
 * Client of Hetzner Robot. Every method throws a ProviderError: beside the codes that it documents, one that any call
 * can have (ROBOT_CREDENTIALS_REFUSED, ROBOT_UNREACHABLE, ROBOT_UNAVAILABLE, ROBOT_RATE_LIMITED, ROBOT_BUDGET_SPENT,
 * ROBOT_BUSY, ROBOT_SERVER_NOT_LISTED, ROBOT_SERVER_UNKNOWN, DEADLINE_EXCEEDED, ROBOT_REPLY_UNKNOWN…). `runOrWait`
 * turns a temporary error into a wait. Brackets contain the hourly limit that a method uses.
 *
 * There is no method for contracts, orders, installations by Robot, or resets by a technician.
 */
export class RobotClient {
  readonly #account: RobotAccount;
  readonly #scope: RobotScope;

  /** Calls can name only what lies within `scope`. */
  constructor(account: RobotAccount, scope: RobotScope) {
    this.#account = account;
    this.#scope = scope;
  }

  /**
   * All servers of the account, also those without a Host object; no other call lists these. [GET /server, 200 for this
   * and {@link getServer} together]
   */
  async listServers(options: CachedCallOptions): Promise<readonly reply.RobotServer[]> {
    return await this.#sharedAnswer('/server', options, async (inner) => {
      // For an empty list the documentation has 404 SERVER_NOT_FOUND, while the webservice sends an empty array.
      const servers = await emptyIfNotFound(
        this.#account.call({ method: 'GET', path: '/server' }, reply.ServersReply, this.#scope, inner),
        'SERVER_NOT_FOUND',
      );
      for (const server of servers) this.#learn(server);
      return servers;
    });
  }

  /** One server. [GET /server] */
  async getServer(number: number, options: RobotCallOptions): Promise<reply.RobotServer> {
    return this.#learn(await this.#ask(number, 'GET', `/server/${number}`, reply.ServerReply, options));
  }

  /**
   * Renames a server and returns it. The name may be empty. The cached list gets the new name, too. [POST /server, 200]
   */
  async renameServer(number: number, name: string, options: RobotCallOptions): Promise<reply.RobotServer> {
    const form = [['server_name', name]] as const;
    const { shared } = this.#account;
    try {
      const server = this.#learn(
        await this.#ask(number, 'POST', `/server/${number}`, reply.ServerReply, options, form),
      );
      shared.update<readonly reply.RobotServer[]>('/server', number, (all) =>
        all.map((one) => (one.number === number ? { ...one, name: server.name } : one)),
      );
      return server;
    } catch (error) {
      // The server may have been renamed although the call failed.
      shared.forget('/server');
      throw error;
    }
  }

  /**
   * All boot configurations of a server. Check them before each reset: all but rescue erase the server. [GET /boot,
   * 500]
   */
  async getBoot(number: number, options: RobotCallOptions): Promise<reply.BootConfigs> {
    return await this.#ask(number, 'GET', `/boot/${number}`, reply.BootReply, options);
  }

  /** Throws ROBOT_NOT_AVAILABLE where the product has no rescue system. [GET /boot] */
  async getRescue(number: number, options: RobotCallOptions): Promise<reply.RescueBoot> {
    return await this.#ask(number, 'GET', `/boot/${number}/rescue`, reply.RescueReply, options);
  }

  /**
   * Arms rescue for the next network boot; the server is not rebooted. The keys have to be stored before. While another
   * boot configuration is active, the call throws ROBOT_BOOT_ALREADY_ACTIVE or replaces it. An unknown fingerprint:
   * ROBOT_REFUSED. [POST /boot, 500]
   */
  async armRescue(
    number: number,
    fingerprints: readonly string[],
    options: RobotCallOptions,
  ): Promise<reply.RescueBoot> {
    if (fingerprints.length === 0) throw new RangeError('rescue needs a key');
    const form = [
      ['os', 'linux'],
      ['authorized_key', fingerprints],
    ] as const;
    const rescue = await this.#ask(number, 'POST', `/boot/${number}/rescue`, reply.RescueReply, options, form);
    if (rescue.active) return rescue;
    throw new HetznerRobotError(
      'ROBOT_REPLY_UNKNOWN',
      'POST /boot/{n}/rescue: active: the rescue system is not active after its activation.',
    );
  }

  /** Disarms rescue. Has no effect when it is not armed. [DELETE /boot, 500] */
  async disarmRescue(number: number, options: RobotCallOptions): Promise<reply.RescueBoot> {
    return await this.#ask(number, 'DELETE', `/boot/${number}/rescue`, reply.RescueReply, options);
  }

  /** Reset types of a server, and its power state where Robot reports it. [GET /reset, 500] */
  async getReset(number: number, options: RobotCallOptions): Promise<reply.ResetInfo> {
    return await this.#ask(number, 'GET', `/reset/${number}`, reply.ResetReply, options);
  }

  /**
   * Resets a server. An account has only 50 resets an hour: beyond that the call throws ROBOT_BUDGET_SPENT with the
   * position in the queue, which is kept. ROBOT_REFUSED for a type that the server does not offer,
   * ROBOT_RESET_MANUAL_ACTIVE while a technician is on the way. [POST /reset, 50]
   */
  async reset(number: number, type: ResetType, options: RobotCallOptions): Promise<void> {
    await this.#ask(number, 'POST', `/reset/${number}`, reply.ResetReply, options, [['type', type]]);
  }

  /** Throws ROBOT_BUDGET_SPENT, as {@link reset} would, while no reset is left. Sends nothing. */
  checkResetBudget(number: number): void {
    const form = [['type', 'hw']] as const;
    this.#account.checkBudget({ method: 'POST', path: `/reset/${number}`, form }, this.#scope);
  }

  /**
   * Stores a public key in OpenSSH format. A key that is stored already, under any name, is success. [POST /key, 200;
   * GET /key]
   */
  async addKey(name: string, data: string, options: RobotCallOptions): Promise<reply.SshKey> {
    const fingerprint = robotKeyFingerprint(data);
    const request = { method: 'POST', path: '/key', form: [['name', name] as const, ['data', data] as const] } as const;
    let key: reply.SshKey;
    try {
      key = await this.#account.call(request, reply.KeyReply, this.#scope, options);
    } catch (error) {
      if (robotErrorCodeOf(error) !== 'KEY_ALREADY_EXISTS') throw error;
      const known = { method: 'GET', path: `/key/${fingerprint}` } as const;
      key = await this.#account.call(known, reply.KeyReply, this.#scope, options);
    }
    if (key.fingerprint === fingerprint) return key;
    throw new HetznerRobotError('ROBOT_REPLY_UNKNOWN', 'POST /key: key.fingerprint: it does not match the key.');
  }

  /**
   * The main IPv4 address of a server with gateway and prefix; undefined: it has none. [GET /ip, 5000; once GET
   * /server]
   */
  async getIp(number: number, options: RobotCallOptions): Promise<reply.IpAddress | undefined> {
    const { address } = await this.#addressesOf(number, options);
    if (address === undefined) return undefined;
    return await this.#ask(number, 'GET', `/ip/${address}`, reply.IpReply, options);
  }

  /** All vSwitches of the account. [GET /vswitch, 500] */
  async listVSwitches(options: RobotCallOptions): Promise<readonly reply.VSwitchSummary[]> {
    const request = { method: 'GET', path: '/vswitch' } as const;
    return await emptyIfNotFound(this.#account.call(request, reply.VSwitchesReply, this.#scope, options));
  }

  /** A vSwitch with its members. [GET /vswitch] */
  async getVSwitch(id: number, options: CachedCallOptions): Promise<reply.VSwitch> {
    const request = { method: 'GET', path: `/vswitch/${id}` } as const;
    return await this.#sharedAnswer(request.path, options, (inner) =>
      this.#account.call(request, reply.VSwitch, this.#scope, inner),
    );
  }

  /**
   * ROBOT_CONFLICT when another vSwitch has the VLAN, ROBOT_LIMIT_REACHED when there are too many. [POST /vswitch, 100]
   */
  async createVSwitch(name: string, vlan: number, options: RobotCallOptions): Promise<reply.VSwitch> {
    const form = [['name', name] as const, ['vlan', String(vlan)] as const];
    return await this.#account.call({ method: 'POST', path: '/vswitch', form }, reply.VSwitch, this.#scope, options);
  }

  /**
   * Adds servers to a vSwitch. `in process`: some are not members yet, or another change is in progress; retry in ten
   * seconds. ROBOT_LIMIT_REACHED beyond 100 servers, or 5 vSwitches of one server. ROBOT_CALL_FAILED for a member that
   * Robot could not connect. [GET /vswitch; POST /vswitch when a server is missing]
   */
  async attachServers(
    id: number,
    numbers: readonly number[],
    options: RobotCallOptions,
  ): Promise<'ready' | 'in process'> {
    const { members } = await this.getVSwitch(id, options);
    const failed = members.filter(({ number, status }) => numbers.includes(number) && status === 'failed');
    if (failed.length > 0) throw vswitchMemberError(failed, id);
    const missing = numbers.filter((number) => !members.some((member) => member.number === number));
    if (members.some(({ status }) => status === 'in process')) return 'in process';
    return missing.length === 0 ? 'ready' : await this.#changeMembers('POST', id, missing, options);
  }

  /**
   * Removes servers from a vSwitch; `gone` when none of them is a member any more. [GET /vswitch; DELETE /vswitch, 100]
   */
  async detachServers(
    id: number,
    numbers: readonly number[],
    options: RobotCallOptions,
  ): Promise<'gone' | 'in process'> {
    const { members } = await this.getVSwitch(id, options);
    const left = members.filter(({ number }) => numbers.includes(number)).map(({ number }) => number);
    if (left.length === 0) return 'gone';
    if (members.some(({ status }) => status === 'in process')) return 'in process';
    return await this.#changeMembers('DELETE', id, left, options);
  }

  /** The server that a failover address is routed to. [GET /failover, 100] */
  async getFailover(ip: string, options: RobotCallOptions): Promise<reply.FailoverAddress> {
    const request = { method: 'GET', path: `/failover/${ip}` } as const;
    return await this.#account.call(request, reply.FailoverReply, this.#scope, options);
  }

  /**
   * Routes a failover address to a server. Answers when it is done, after about a minute. Success when it is routed
   * there already; ROBOT_IN_PROCESS while it is being switched. [POST /failover, 50; once GET /server]
   */
  async routeFailover(ip: string, number: number, options: RobotCallOptions): Promise<reply.FailoverAddress> {
    const { address, ipv6Net } = await this.#addressesOf(number, options);
    const target = isIPv4(ip) ? address : ipv6Net;
    if (target === undefined) {
      throw new HetznerRobotError('ROBOT_NOT_AVAILABLE', `Server ${number} has no address to route ${ip} to.`);
    }
    const form = [['active_server_ip', target] as const];
    const request = { method: 'POST', path: `/failover/${ip}`, form } as const;
    try {
      return await this.#account.call(request, reply.FailoverReply, this.#scope, options);
    } catch (error) {
      if (robotErrorCodeOf(error) !== 'FAILOVER_ALREADY_ROUTED') throw error;
      return await this.getFailover(ip, options);
    }
  }

  /** A call about one server. The answer has to name the same server. */
  async #ask<T extends { readonly number?: number | undefined }>(
    number: number,
    method: RobotRequest['method'],
    path: string,
    answer: z.ZodType<T>,
    options: RobotCallOptions,
    form?: readonly FormField[],
  ): Promise<T> {
    const result = await this.#account.call({ method, path, ...(form && { form }) }, answer, this.#scope, options);
    if (result.number === undefined || result.number === number) return result;
    throw new HetznerRobotError(
      'ROBOT_REPLY_UNKNOWN',
      `${method} ${path}: server_number: it does not match the request.`,
    );
  }

  #learn(server: reply.RobotServer): reply.RobotServer {
    this.#account.recordResponse(server);
    return server;
  }

  /** The addresses do not change while a server is rented. */
  async #addressesOf(number: number, options: RobotCallOptions): Promise<ServerAddresses> {
    return this.#account.addressesOf(number) ?? (await this.getServer(number, options));
  }

  async #sharedAnswer<T>(
    question: string,
    { maxAgeSeconds = 0, withoutUpdates, ...options }: CachedCallOptions,
    ask: (options: RobotCallOptions) => Promise<T>,
  ): Promise<T> {
    const { shared, signal } = this.#account;
    if (maxAgeSeconds <= 0) return await ask(options);
    return await shared.get(
      question,
      { maxAgeSeconds, withoutUpdates },
      () => ask({ ...options, signal }),
      options.signal,
    );
  }

  async #changeMembers(
    method: 'POST' | 'DELETE',
    id: number,
    numbers: readonly number[],
    options: RobotCallOptions,
  ): Promise<'in process'> {
    const path = `/vswitch/${id}`;
    const request = { method, path: `${path}/server`, form: [['server', numbers.map(String)] as const] };
    try {
      await this.#account.call(request, reply.EmptyReply, this.#scope, options);
    } catch (error) {
      // Another caller was faster.
      if (!hasCode(error, 'ROBOT_IN_PROCESS')) throw error;
    } finally {
      this.#account.shared.forget(path);
    }
    return 'in process';
  }
}

/** Members of a vSwitch that Robot could not connect. */
export function vswitchMemberError(members: readonly { readonly number: number }[], vswitch: number): ProviderError {
  const names = members.map(({ number }) => number).join(', ');
  return new HetznerRobotError('ROBOT_CALL_FAILED', `Server ${names} could not be added to vSwitch ${vswitch}.`);
}

/** Robot answers 404 for some empty lists. */
async function emptyIfNotFound<T>(list: Promise<readonly T[]>, code = 'NOT_FOUND'): Promise<readonly T[]> {
  try {
    return await list;
  } catch (error) {
    if (robotErrorCodeOf(error) === code) return [];
    throw error;
  }
}

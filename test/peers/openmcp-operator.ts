import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { CustomResourceDefinition } from '../../src/kube/core-types.ts';
import { findPeer, missingPeers } from './find-peer.ts';
import { awaitPeerReady, freePort, startPeerProcess } from './peer-process.ts';
import { respondsOk } from './responds-ok.ts';

export interface RealOperatorOptions {
  /** Path of a kubeconfig of the platform cluster, in which the openMCP kinds and `namespace` already exist. */
  readonly kubeconfig: string;
  /** In the operator's own format. If its scheduler runs, `scheduler` is required. */
  readonly config: unknown;
  /** `POD_NAMESPACE`. */
  readonly namespace: string;
  /** Default `test`. */
  readonly environment?: string;
  /**
   * Whether it also deploys providers: then the cluster needs controllers, and a component that starts Pods. Default
   * false.
   */
  readonly isDeploying?: boolean;
}

/** A real openmcp-operator with the controllers that a cluster provider interacts with. */
export interface RealOperator {
  /** Its last lines, for an error message. */
  logs(): string;
  close(): Promise<void>;
}

const patienceSeconds = 60;

/** Why `startRealOperator` cannot work here, in one sentence; undefined when it can. */
export const missingForRealOperator = (): string | undefined => missingPeers('openmcp-operator');

/** Resolves once it reports that it is ready. */
export async function startRealOperator(options: RealOperatorOptions): Promise<RealOperator> {
  const path = findPeer('openmcp-operator');
  if (!path) throw new Error(missingForRealOperator());
  const folder = mkdtempSync(join(tmpdir(), 'real-operator-'));
  const file = join(folder, 'config.json');
  writeFileSync(file, JSON.stringify(options.config));
  const probe = `127.0.0.1:${await freePort('127.0.0.1')}`;
  const program = startPeerProcess({
    path,
    args: [
      'run',
      `--environment=${options.environment ?? 'test'}`,
      `--config=${file}`,
      `--kubeconfig=${options.kubeconfig}`,
      `--controllers=scheduler,accessrequest${options.isDeploying ? ',deploymentcontroller' : ''}`,
      `--health-probe-bind-address=${probe}`,
    ],
    env: { ...process.env, POD_NAMESPACE: options.namespace, POD_NAME: 'operator' },
  });
  const close = async () => {
    await program.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await awaitPeerReady('openmcp-operator', program, patienceSeconds, () => respondsOk(`http://${probe}/readyz`));
  } catch (error) {
    await close();
    throw error;
  }
  return { logs: () => `--- openmcp-operator\n${program.tail()}`, close };
}

/** Names the folder with the operator's own CRDs. */
const folderVariable = 'OPENMCP_CRDS';

/** Why `upstreamCrds` cannot be read here, in one sentence; undefined when they can. */
export const missingUpstreamCrds = (): string | undefined =>
  process.env[folderVariable] ? undefined : `${folderVariable} does not name a folder with the operator's own CRDs.`;

/** The operator's own definitions of the kinds of these groups. */
export function upstreamCrds(...groups: readonly string[]): CustomResourceDefinition[] {
  const folder = process.env[folderVariable];
  if (!folder) throw new Error(missingUpstreamCrds());
  return readdirSync(folder)
    .filter((name) => name.endsWith('.yaml') && groups.some((group) => name.startsWith(`${group}_`)))
    .map((name) => parse(readFileSync(join(folder, name), 'utf8')) as CustomResourceDefinition);
}

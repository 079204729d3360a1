import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { request } from 'undici';
import { stringify } from 'yaml';
import { findPeer, missingPeers } from './find-peer.ts';
import { awaitPeerReady, freePort, startPeerProcess } from './peer-process.ts';

export interface PrometheusOptions {
  /** The address that it listens on. */
  readonly host: string;
  /** For its configuration and its data. */
  readonly folder: string;
  /** What it scrapes each second over HTTPS: address and port, the token that it shows, and labels for all series. */
  readonly target: { readonly address: string; readonly token: string; readonly labels: Record<string, string> };
  /** YAML with groups of rules. */
  readonly rules: string;
}

export interface PrometheusSample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [time: number, value: string];
}

export interface PrometheusRule {
  readonly name: string;
  readonly health: 'ok' | 'err' | 'unknown';
  readonly lastError?: string;
  readonly state: 'inactive' | 'pending' | 'firing';
}

/** A running Prometheus with one target. */
export interface Prometheus {
  /** The samples of an instant query. Throws with the answer of Prometheus when it refuses the query. */
  query(expr: string): Promise<readonly PrometheusSample[]>;
  rules(): Promise<readonly PrometheusRule[]>;
  /** Why the last scrape failed; empty when it succeeded. */
  scrapeError(): Promise<string>;
  stop(): Promise<void>;
}

const patienceSeconds = 60;

export async function startPrometheus({ host, folder, target, rules }: PrometheusOptions): Promise<Prometheus> {
  const path = findPeer('prometheus');
  if (!path) throw new Error(missingPeers('prometheus'));
  mkdirSync(folder, { recursive: true });
  const write = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text, { mode: 0o600 });
    return join(folder, name);
  };
  const config = {
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: [write('rules.yaml', rules)],
    scrape_configs: [
      {
        job_name: 'provider',
        scheme: 'https',
        authorization: { credentials_file: write('token', target.token) },
        // As the ServiceMonitor: the certificate is made at each start.
        tls_config: { insecure_skip_verify: true },
        static_configs: [{ targets: [target.address], labels: target.labels }],
      },
    ],
  };
  const port = await freePort(host);
  const program = startPeerProcess({
    path,
    args: [
      `--config.file=${write('prometheus.yaml', stringify(config))}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=${host}:${port}`,
      '--log.level=warn',
    ],
    folder,
  });
  const url = `http://${host}:${port}`;
  await awaitPeerReady('prometheus', program, patienceSeconds, async () => {
    const answer = await request(`${url}/-/ready`).catch(() => undefined);
    await answer?.body.dump();
    return answer?.statusCode === 200;
  });
  const ask = async <T>(path: string): Promise<T> => {
    const { body } = await request(`${url}/api/v1/${path}`);
    const answer = (await body.json()) as { status: string; error?: string; data: T };
    if (answer.status !== 'success') throw new Error(`${path}: ${answer.error}`);
    return answer.data;
  };
  return {
    query: async (expr) =>
      (await ask<{ result: PrometheusSample[] }>(`query?query=${encodeURIComponent(expr)}`)).result,
    rules: async () =>
      (await ask<{ groups: { rules: PrometheusRule[] }[] }>('rules')).groups.flatMap((group) => group.rules),
    scrapeError: async () =>
      (await ask<{ activeTargets: { lastError: string }[] }>('targets')).activeTargets
        .map(({ lastError }) => lastError)
        .join(),
    stop: async () => await program.stop(),
  };
}

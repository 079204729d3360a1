import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { podNetwork } from '../../peers/pods/node-files.ts';
import type { RealPods } from '../../peers/pods/real-pods.ts';
import { startBeside } from '../../peers/pods/start-beside.ts';
import { projectRoot } from '../../setup/generated-files.ts';

export const simulatorPorts = { 'image-factory': 8080, truenas: 8443 } as const;

/** The line that a simulator prints, as far as it is used here. */
interface SimulatorLine {
  readonly url: string;
  readonly ca?: string;
  readonly credentials: Readonly<Record<string, string>>;
}

/**
 * Starts a simulated NAS and image factory in the network of a cluster with real Pods. Returns the objects of
 * `config/samples/truenas.yaml` for them. They end with the cluster.
 */
export async function startSimulatorsBeside(pods: RealPods): Promise<readonly object[]> {
  const [factory, nas] = await Promise.all([startOne(pods, 'image-factory'), startOne(pods, 'truenas')]);
  const text = await readFile(join(projectRoot, 'config/samples/truenas.yaml'), 'utf8');
  const [secret, config] = parseAllDocuments(text).map((document) => document.toJS());
  secret.stringData = { username: nas.credentials['user'], apiKey: nas.credentials['apiKey'] };
  config.spec.talos.factoryUrl = factory.url;
  config.spec.truenas.url = nas.url;
  if (nas.ca) config.spec.truenas.caBundle = await readFile(nas.ca, 'utf8');
  const [subnet] = podNetwork.machines.split('.0/');
  const [gateway, pool] = [`${subnet}.1`, `${subnet}.20-${subnet}.60`];
  Object.assign(config.spec.network, { addressPool: [pool], gateway, nameServers: [gateway] });
  return [secret, config];
}

async function startOne(pods: RealPods, name: keyof typeof simulatorPorts): Promise<SimulatorLine> {
  const folder = join(dirname(pods.kubeconfig), name);
  const words = [
    ...['env', `--chdir=${projectRoot}`, process.execPath, '--import', 'tsx', 'test/world/main.ts', name],
    ...['--listen', `${podNetwork.node}:${simulatorPorts[name]}`, '--time-scale', '0.02', '--folder', folder],
  ];
  return JSON.parse(await startBeside(pods, words));
}

import { createServer } from 'node:http';
import { fieldManager } from '../../../src/api/names.ts';
import { KubeClient } from '../../../src/kube/client/client.ts';
import { loadApiServerConnection } from '../../../src/kube/transport/api-server-connection.ts';
import { Transport } from '../../../src/kube/transport/transport.ts';
import { deadlineSignal } from '../../../src/lib/deadline.ts';
import { noLog } from '../../../src/lib/log.ts';
import { startListening, stopListening } from '../network/listening.ts';
import type { RunningSimulator, Simulator, SimulatorOptions } from '../simulator.ts';
import { parseOperatorConfig, readOperatorConfig } from './config.ts';
import { operatorDescription } from './description.ts';
import { installOpenmcpKinds } from './install-openmcp.ts';
import { startOperator } from './operator.ts';

/** The default configuration, so that a request has a profile: that of the samples. */
const sampleConfig = {
  scheduler: {
    purposeMappings: { test: { template: { spec: { profile: 'dev.talos.small', tenancy: 'Exclusive' } } } },
  },
};

/**
 * The openMCP operator's part of a platform cluster: its kinds, its namespace, its scheduler and its generic
 * AccessRequest controller. `--kubeconfig` names the platform cluster, `--config` a file in the operator's own format;
 * the seed may hold such a configuration instead. Only its health probe listens.
 */
async function startOperatorSimulator(options: SimulatorOptions): Promise<RunningSimulator> {
  const { kubeconfig, config: file } = options.extra;
  if (!kubeconfig) throw new RangeError('the simulator operator needs --kubeconfig FILE of the platform cluster');
  const config = file ? readOperatorConfig(file) : parseOperatorConfig(options.seed ?? sampleConfig);
  const connection = loadApiServerConnection({ path: kubeconfig });
  const client = new KubeClient(new Transport(connection, { userAgent: 'openmcp-operator' }), {
    fieldManager: `${fieldManager}-world-operator`,
  });
  const log = options.log ?? noLog;
  await installOpenmcpKinds(client, log, deadlineSignal(60));
  let operator = startOperator({ client, config, log });
  await operator.synced;
  const server = createHealthServer();
  const port = await startListening(server, options.host, options.port);
  return {
    line: { simulator: 'operator', url: `http://${options.host}:${port}`, credentials: { kubeconfig }, ca: null },
    restart: async () => {
      await operator.close();
      operator = startOperator({ client, config, log });
      await operator.synced;
    },
    close: async () => {
      await operator.close();
      await client.close();
      await stopListening(server);
    },
  };
}

/** Answers ok, like the operator's probes. */
const createHealthServer = () =>
  createServer((request, response) => {
    const isProbe = request.url === '/healthz' || request.url === '/readyz';
    response.writeHead(isProbe ? 200 : 404, { 'content-type': 'text/plain' }).end(isProbe ? 'ok' : 'not found');
  });

export const operatorSimulator: Simulator = {
  ...operatorDescription,
  start: startOperatorSimulator,
};

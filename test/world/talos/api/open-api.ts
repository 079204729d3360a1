import type { ConnectRouter } from '@connectrpc/connect';
import { State } from '../../../../src/talos/gen/cosi_pb.ts';
import { ImageService } from '../../../../src/talos/gen/image_pb.ts';
import { LifecycleService } from '../../../../src/talos/gen/lifecycle_pb.ts';
import { MachineService } from '../../../../src/talos/gen/machine_pb.ts';
import { acceptedCas } from '../certificates/accepted-authorities.ts';
import { issueApiCertificate, issueMaintenanceCertificate } from '../certificates/node-certificates.ts';
import type { LeafCertificate } from '../certificates/pki.ts';
import { talosApiPort } from '../environment.ts';
import type { TalosNode } from '../node.ts';
import { timings } from '../timings.ts';
import { callInterceptor } from './call-interceptors.ts';
import { followAuthorities } from './follow-authorities.ts';
import { type GrpcListener, listenGrpc } from './grpc-server.ts';
import { imageService } from './image-service.ts';
import { lifecycleService } from './lifecycle-service.ts';
import { machineService } from './machine-service.ts';
import { stateService } from './state-service.ts';

const routesOf =
  (node: TalosNode, onConfig: () => void) =>
  (router: ConnectRouter): void => {
    router.service(MachineService, machineService(node, onConfig));
    router.service(State, stateService(node));
    if (node.minor < 13) return;
    router.service(ImageService, imageService(node));
    router.service(LifecycleService, lifecycleService(node));
  };

/**
 * The API of maintenance mode: every caller may connect, but only apply a configuration. `configured` resolves when one
 * was accepted.
 */
export async function openMaintenanceApi(
  node: TalosNode,
): Promise<{ configured: Promise<void>; close(): Promise<void> }> {
  let accept: () => void = () => {};
  const configured = new Promise<void>((resolve) => {
    accept = resolve;
  });
  const listener = await listenOnNode(node, await issueMaintenanceCertificate(node), undefined, accept);
  // The certificate is reissued when an IPv6 address appears: clients should not pin the first one.
  node.spawn('maintenance certificate', async () => {
    await node.sleep(timings.maintenanceCertificate);
    listener.renew(await issueMaintenanceCertificate(node));
  });
  return { configured, close: () => listener.close() };
}

/** The API of a configured node, with mutual TLS. Resolves when it answers. */
export async function openApi(node: TalosNode): Promise<void> {
  const leaf = await issueApiCertificate(node);
  if (node.signal.aborted) return;
  node.serving = leaf;
  const listener = await listenOnNode(node, leaf, acceptedCas(node), () => {});
  followAuthorities(node, async () => {
    node.serving = await issueApiCertificate(node);
    listener.renew(node.serving, acceptedCas(node));
  });
}

async function listenOnNode(
  node: TalosNode,
  leaf: LeafCertificate,
  clientCas: string[] | undefined,
  onConfig: () => void,
): Promise<GrpcListener> {
  const listener = await listenGrpc({
    addresses: node.addresses,
    port: talosApiPort,
    leaf,
    ...(clientCas ? { clientCas } : {}),
    routes: routesOf(node, onConfig),
    interceptors: [callInterceptor(node, clientCas === undefined)],
  });
  if (node.signal.aborted) await listener.close();
  node.onClose((inOrder) => listener.close(inOrder));
  node.services.set('apid', 'Running', 'Health check successful', true);
  node.log(clientCas ? 'apid: listening' : 'apid: listening in maintenance mode');
  return listener;
}

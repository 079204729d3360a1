import { defineConformanceSuite } from './conformance-suite.ts';
import { simulatedApiServer } from './support/api-servers.ts';

defineConformanceSuite(simulatedApiServer);

import { parentPort, workerData } from "node:worker_threads";
import { htmlText } from "./html-text.ts";

parentPort?.postMessage(htmlText(workerData as string));
